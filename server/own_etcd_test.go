package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/rest"
	"github.com/kx-apiserver/kx/server/endpoint"
)

// Star is a kind of a program that keeps its objects in kx's etcd.
type Star struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              StarSpec   `json:"spec"`
	Status            StarStatus `json:"status"`
}

type StarSpec struct {
	Colour string `json:"colour,omitempty"`
	Mass   int64  `json:"mass,omitempty"`
}

type StarStatus struct {
	Phase string `json:"phase,omitempty"`
}

func (s *Star) DeepCopyObject() runtime.Object {
	c := *s
	s.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

type StarList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Star `json:"items"`
}

func (l *StarList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = nil
	for i := range l.Items {
		c.Items = append(c.Items, *l.Items[i].DeepCopyObject().(*Star))
	}
	return &c
}

var stars = builtin.Resource[*Star]{
	Names:  builtin.Names{Plural: "stars", Singular: "star", Short: []string{"st"}},
	List:   &StarList{},
	Stored: skyVersion,
	Default: func(s *Star) {
		if s.Spec.Colour == "" {
			s.Spec.Colour = "yellow"
		}
	},
	Validate: func(s *Star) (errs field.ErrorList) {
		if s.Spec.Mass < 0 {
			errs = append(errs, field.Invalid(field.NewPath("spec", "mass"), s.Spec.Mass, "must not be negative"))
		}
		return errs
	},
	ValidateUpdate: func(_, _ *Star) field.ErrorList { return nil },
	Spec:           func(s *Star) any { return &s.Spec },
	Status: &builtin.Status[*Star]{
		Of:   func(s *Star) any { return &s.Status },
		Part: builtin.Part[*Star]{Keep: func(s, old *Star) { s.Spec = old.Spec }},
	},
	Fields:  []builtin.Field[*Star]{{Label: "spec.colour", Value: func(s *Star) string { return s.Spec.Colour }}},
	Columns: []builtin.Column{builtin.NameColumn, {Name: "Colour", Type: "string"}},
	Row:     func(s *Star) metav1.TableRow { return builtin.Row(s.Name, s.Spec.Colour) },
}

var starGroup = rest.Own{Group: builtin.Group{
	Versions: []builtin.Version{{GroupVersion: skyVersion, Types: func(s *runtime.Scheme) error {
		s.AddKnownTypes(skyVersion, &Star{}, &StarList{})
		metav1.AddToGroupVersion(s, skyVersion)
		return nil
	}}},
	Resources: []builtin.Declaration{builtin.Declare(stars)},
}}

// TestOwnOnEtcd keeps objects of a kind of its own in the server's etcd, with all that resources have there.
func TestOwnOnEtcd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, stop, err := launchWith([]endpoint.RESTStorageProvider{starGroup}, in(dir))
	must(t, err)
	stopped := false
	t.Cleanup(func() {
		if !stopped {
			must(t, stop())
		}
	})
	ctx, ns := within(t), r.namespace(t, "sky")
	client := r.dynamic(t).Resource(skyVersion.WithResource("stars")).Namespace(ns)
	star := func(name string, mass int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": skyVersion.String(), "kind": "Star", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"mass": mass}, "status": map[string]any{"phase": "sent"},
		}}
	}
	watcher, err := client.Watch(ctx, metav1.ListOptions{})
	must(t, err)
	defer watcher.Stop()
	created, err := client.Create(ctx, star("sun", 1), metav1.CreateOptions{})
	must(t, err)
	spec, _, _ := unstructured.NestedMap(created.Object, "spec")
	if spec["colour"] != "yellow" || created.GetGeneration() != 1 || created.Object["status"].(map[string]any)["phase"] != nil {
		t.Errorf("created %v", created)
	}
	if e := <-watcher.ResultChan(); e.Type != watch.Added {
		t.Errorf("the watch saw %v", e)
	}
	if _, err := client.Create(ctx, star("hole", -1), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("what is not valid: %v", err)
	}
	stale := created.DeepCopy()
	patched, err := client.Patch(ctx, "sun", types.MergePatchType, []byte(`{"spec":{"colour":"red"}}`), metav1.PatchOptions{})
	must(t, err)
	if patched.GetGeneration() != 2 {
		t.Errorf("patched %v", patched)
	}
	if _, err := client.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("an update of what has changed: %v", err)
	}
	if _, err := client.Patch(ctx, "sun", types.MergePatchType, []byte(`{"status":{"phase":"giant"},"spec":{"mass":9}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Error(err)
	}
	red, err := client.List(ctx, metav1.ListOptions{FieldSelector: "spec.colour=red"})
	must(t, err)
	none, err := client.List(ctx, metav1.ListOptions{FieldSelector: "spec.colour=blue"})
	must(t, err)
	if len(red.Items) != 1 || len(none.Items) != 0 {
		t.Errorf("a selector finds %d and %d", len(red.Items), len(none.Items))
	}
	var rows metav1.Table
	must(t, json.Unmarshal(r.get(t, "/apis/sky.example.com/v1/namespaces/"+ns+"/stars", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io"), &rows))
	if len(rows.Rows) != 1 || rows.Rows[0].Cells[1] != "red" {
		t.Errorf("the table is %+v", rows)
	}

	kvs, err := r.etcd(t).Get(ctx, "/registry/sky.example.com/stars/", clientv3.WithPrefix())
	must(t, err)
	if len(kvs.Kvs) != 1 || !strings.Contains(string(kvs.Kvs[0].Value), `"spec":{"colour":"red","mass":1},"status":{"phase":"giant"}`) ||
		!strings.HasPrefix(string(kvs.Kvs[0].Value), `{"kind":"Star","apiVersion":"sky.example.com/v1",`) {
		t.Errorf("etcd has %s", kvs.Kvs)
	}
	stopped = true
	must(t, stop())

	r, stop, err = launchWith([]endpoint.RESTStorageProvider{starGroup}, in(dir))
	must(t, err)
	defer func() { must(t, stop()) }()
	var kept Star
	if code := r.read(t, "/apis/sky.example.com/v1/namespaces/"+ns+"/stars/sun", &kept); code != http.StatusOK || kept.Spec != (StarSpec{"red", 1}) || kept.Status.Phase != "giant" {
		t.Errorf("after a new start: %d, %+v", code, kept)
	}
	changes := r.etcd(t).Watch(ctx, "/registry/sky.example.com/stars/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	<-changes
	must(t, r.admin(t).CoreV1().Namespaces().Delete(ctx, ns, metav1.DeleteOptions{}))
	if change := <-changes; len(change.Events) == 0 || change.Events[0].Type != clientv3.EventTypeDelete {
		t.Errorf("the namespace is deleted, and its star is not: %v", change)
	}
}
