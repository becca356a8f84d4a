package aggregator_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/controllertest"
	"github.com/kx-apiserver/kx/server/options"
)

// serve starts kx with the controller of namespaces alone.
func serve(t *testing.T) controllertest.Clients {
	t.Helper()
	o := options.New()
	o.Controllers = controller.Selection{controller.Namespace}
	clients, _ := controllertest.Serve(t, o, controllertest.ShortDir(t))
	return clients
}

// create makes a namespace, and has the stage of a test in it, where what is there is what state says.
func create(t *testing.T, clients controllertest.Clients, name string, state func(*controllertest.Stage) []string) stage {
	t.Helper()
	must[*corev1.Namespace](t)(clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))
	scenes := &controllertest.Scenes{State: state}
	return stage{scenes.Stage(t, clients, name)}
}

// TestRefusals empties a namespace whose objects another server has. Of two of them it says that they are not there, as a Status and as
// text, and one it refuses to delete for a time: the namespace says why, in its words.
func TestRefusals(t *testing.T) {
	t.Parallel()
	var ripe, empty atomic.Bool
	s := create(t, serve(t), "refusals", func(s *controllertest.Stage) []string {
		ns, err := s.CoreV1().Namespaces().Get(s.T.Context(), "garden", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return []string{"it is gone"}
		}
		if err != nil {
			s.T.Fatal(err)
		}
		lines := state(s)
		for _, c := range ns.Status.Conditions {
			lines = append(lines, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Message))
		}
		return lines
	})
	create(t, s.Clients, "garden", nil)
	root := "/apis/" + s.group() + "/v1"
	things := root + "/namespaces/garden/things"
	refuse := func(w http.ResponseWriter, err *apierrors.StatusError) {
		w.WriteHeader(int(err.ErrStatus.Code))
		if err := json.NewEncoder(w).Encode(err.ErrStatus); err != nil {
			t.Error(err)
		}
	}
	s.serve(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		name, one := strings.CutPrefix(r.URL.Path, things+"/")
		switch {
		case r.URL.Path == root:
			fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"%s/v1","resources":[{"name":"things","kind":"Thing","namespaced":true,"verbs":["list","delete"]}]}`, s.group())
		case r.URL.Path == things && empty.Load():
			fmt.Fprint(w, `{"items":[]}`)
		case r.URL.Path == things:
			fmt.Fprint(w, `{"items":[{"metadata":{"name":"a","uid":"1"}},{"metadata":{"name":"b","uid":"2"}},{"metadata":{"name":"c","uid":"3"}}]}`)
		case one && name == "a":
			refuse(w, apierrors.NewNotFound(corev1.Resource("things"), name))
		case one && name == "c" && !ripe.Load():
			refuse(w, apierrors.NewForbidden(corev1.Resource("things"), name, fmt.Errorf("it is not ripe")))
		case one && name == "c":
			empty.Store(true)
			fmt.Fprint(w, `{"kind":"Status","status":"Success"}`)
		default:
			http.NotFound(w, r)
		}
	}, nil)
	s.AwaitPart(`"resource":"things"`)
	if err := s.CoreV1().Namespaces().Delete(t.Context(), "garden", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.AwaitPart(`NamespaceDeletionContentFailure=True Failed to delete all resource types, 1 remaining: things "c" is forbidden: it is not ripe`)
	ripe.Store(true)
	s.AwaitPart("it is gone")
}

// TestEndlessList empties a namespace of whose objects another server has no end, each with a large annotation. It is read up to a limit,
// and not into all memory.
func TestEndlessList(t *testing.T) {
	t.Parallel()
	s := create(t, serve(t), "endless", func(s *controllertest.Stage) []string {
		ns, err := s.CoreV1().Namespaces().Get(s.T.Context(), "desert", metav1.GetOptions{})
		if err != nil {
			s.T.Fatal(err)
		}
		lines := state(s)
		for _, c := range ns.Status.Conditions {
			lines = append(lines, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Message))
		}
		return lines
	})
	create(t, s.Clients, "desert", nil)
	root := "/apis/" + s.group() + "/v1"
	grains := root + "/namespaces/desert/grains"
	page := fmt.Sprintf(`{"metadata":{"continue":"more"},"items":[{"metadata":{"name":"a","uid":"1","annotations":{"a":%q}}}]}`, strings.Repeat("x", 15<<20))
	var ended atomic.Bool
	s.serve(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == root:
			fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"%s/v1","resources":[{"name":"grains","kind":"Grain","namespaced":true,"verbs":["list","delete"]}]}`, s.group())
		case r.URL.Path == grains && ended.Load():
			fmt.Fprint(w, `{"items":[]}`)
		case r.URL.Path == grains:
			fmt.Fprint(w, page)
		default:
			http.NotFound(w, r)
		}
	}, nil)
	s.AwaitPart(`"resource":"grains"`)
	if err := s.CoreV1().Namespaces().Delete(t.Context(), "desert", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.AwaitPart("answers more than 134217728 bytes")
	ended.Store(true)
}
