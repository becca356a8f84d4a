package controller_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

const (
	accountFixture   = "serviceaccounts/default"
	authorityFixture = "configmaps/kube-root-ca.crt"
)

// patchFixture changes an object when it is there.
func patchFixture(s *controllertest.Stage, what, change string) {
	s.T.Helper()
	s.Await(what)
	resource, name, _ := strings.Cut(what, "/")
	_, err := s.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource(resource)).Namespace(s.Namespace).
		Patch(s.T.Context(), name, types.MergePatchType, []byte(change), metav1.PatchOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
}

// removeFixture deletes an object when it is there.
func removeFixture(s *controllertest.Stage, what string) {
	s.T.Helper()
	s.Await(what)
	resource, name, _ := strings.Cut(what, "/")
	err := s.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource(resource)).Namespace(s.Namespace).
		Delete(s.T.Context(), name, metav1.DeleteOptions{})
	if err != nil {
		s.T.Fatal(err)
	}
}

var fixtureScenes = map[string]func(*controllertest.Stage){
	"a new namespace": func(s *controllertest.Stage) {},
	"deleted": func(s *controllertest.Stage) {
		patchFixture(s, accountFixture, `{"metadata":{"labels":{"old":"yes"}}}`)
		removeFixture(s, accountFixture)
		patchFixture(s, authorityFixture, `{"metadata":{"labels":{"old":"yes"}}}`)
		removeFixture(s, authorityFixture)
	},
	"deleted and held": func(s *controllertest.Stage) {
		for _, what := range []string{accountFixture, authorityFixture} {
			patchFixture(s, what, `{"metadata":{"finalizers":["example.com/held"]}}`)
			removeFixture(s, what)
		}
	},
	"an account of somebody's": func(s *controllertest.Stage) {
		patchFixture(s, accountFixture, `{"metadata":{"labels":{"mine":"yes"}},"secrets":[{"name":"a"}],"imagePullSecrets":[{"name":"b"}],"automountServiceAccountToken":false}`)
	},
	"another authority": func(s *controllertest.Stage) {
		patchFixture(s, authorityFixture, `{"data":{"ca.crt":"another"}}`)
	},
	"no authority": func(s *controllertest.Stage) {
		patchFixture(s, authorityFixture, `{"data":null}`)
	},
	"more data": func(s *controllertest.Stage) {
		patchFixture(s, authorityFixture, `{"data":{"other.crt":"another"},"metadata":{"labels":{"mine":"yes"}}}`)
	},
	"binary data": func(s *controllertest.Stage) {
		patchFixture(s, authorityFixture, `{"binaryData":{"other.crt":"AAAA"}}`)
	},
	"no description": func(s *controllertest.Stage) {
		patchFixture(s, authorityFixture, `{"metadata":{"annotations":null}}`)
	},
	"another description": func(s *controllertest.Stage) {
		patchFixture(s, authorityFixture, `{"metadata":{"annotations":{"kubernetes.io/description":"mine","mine":"yes"}}}`)
	},
	"immutable and wrong": func(s *controllertest.Stage) {
		patchFixture(s, authorityFixture, `{"immutable":true,"data":{"ca.crt":"another"}}`)
		patchFixture(s, accountFixture, `{"metadata":{"labels":{"seen":"yes"}}}`)
	},
	"changed ten times": func(s *controllertest.Stage) {
		for range 10 {
			patchFixture(s, authorityFixture, `{"metadata":{"labels":{"mine":"yes"}}}`)
		}
		patchFixture(s, authorityFixture, `{"data":{"ca.crt":"another"}}`)
	},
	"an ending namespace": func(s *controllertest.Stage) {
		s.Await(accountFixture)
		patchFixture(s, authorityFixture, `{"metadata":{"finalizers":["example.com/held"]}}`)
		if err := s.CoreV1().Namespaces().Delete(s.T.Context(), s.Namespace, metav1.DeleteOptions{}); err != nil {
			s.T.Fatal(err)
		}
		s.T.Cleanup(func() {
			patch := []byte(`{"metadata":{"finalizers":null}}`)
			_, _ = s.CoreV1().ConfigMaps(s.Namespace).Patch(s.T.Context(), "kube-root-ca.crt", types.MergePatchType, patch, metav1.PatchOptions{})
		})
	},
}

// TestFixtureUpstream plays scenes, and waits for what is left of each with a kube-apiserver v1.37.1 and its kube-controller-manager. All
// fields are compared but times, UIDs, revisions, and who owns the fields: what the controllers of kx write nobody owns.
func TestFixtureUpstream(t *testing.T) {
	t.Parallel()
	all := controllertest.Scenes{Answers: "fixture.json", Play: fixtureScenes, State: fixtureState, Quiet: 12 * time.Second}
	all.Compare(t, ordinary.Clients)
}

func fixtureState(s *controllertest.Stage) (lines []string) {
	s.T.Helper()
	config := rest.CopyConfig(s.Config)
	if err := rest.LoadTLSFiles(config); err != nil {
		s.T.Fatal(err)
	}
	for _, resource := range []schema.GroupVersionResource{
		corev1.SchemeGroupVersion.WithResource("configmaps"), corev1.SchemeGroupVersion.WithResource("serviceaccounts"),
	} {
		list, err := s.Dynamic.Resource(resource).Namespace(s.Namespace).List(s.T.Context(), metav1.ListOptions{})
		if err != nil {
			s.T.Fatal(err)
		}
		for _, o := range list.Items {
			metadata := o.Object["metadata"].(map[string]any)
			for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
				delete(metadata, field)
			}
			if metadata["deletionTimestamp"] != nil {
				metadata["deletionTimestamp"] = "a time"
			}
			if data, ok := o.Object["data"].(map[string]any); ok && data["ca.crt"] == string(config.CAData) {
				data["ca.crt"] = "the server's authority"
			}
			text, err := json.Marshal(o.Object)
			if err != nil {
				s.T.Fatal(err)
			}
			lines = append(lines, string(text)+" "+resource.Resource+"/"+o.GetName())
		}
	}
	return lines
}
