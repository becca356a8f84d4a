package core_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

type storages struct {
	main     *core.NamespaceREST
	status   rest.Updater
	finalize *core.FinalizeREST
	etcd     *builtintest.Etcd
}

func newStorages(t *testing.T) storages {
	t.Helper()
	etcd := builtintest.NewEtcd(t)
	s := builtintest.Storages(t, builtin.Declare(core.Namespace), etcd)
	return storages{s[""].(*core.NamespaceREST), s["status"].(rest.Updater), s["finalize"].(*core.FinalizeREST), etcd}
}

func (s storages) create(t *testing.T, ns *corev1.Namespace) *corev1.Namespace {
	t.Helper()
	obj, err := s.main.Create(builtintest.Context(t, ""), builtintest.Defaulted(ns), rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return builtintest.Own[*corev1.Namespace](t, obj)
}

func (s storages) update(t *testing.T, to rest.Updater, ns *corev1.Namespace) *corev1.Namespace {
	t.Helper()
	obj, _, err := to.Update(builtintest.Context(t, ""), ns.Name, rest.DefaultUpdatedObjectInfo(ns), rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return builtintest.Own[*corev1.Namespace](t, obj)
}

func (s storages) remove(t *testing.T, name string, options *metav1.DeleteOptions) (*corev1.Namespace, bool) {
	t.Helper()
	obj, gone, err := s.main.Delete(builtintest.Context(t, ""), name, rest.ValidateAllObjectFunc, options)
	if err != nil {
		t.Fatal(err)
	}
	return obj.(*corev1.Namespace), gone
}

func (s storages) exists(t *testing.T, name string) bool {
	t.Helper()
	answer, err := s.etcd.Client.Get(t.Context(), s.etcd.Prefix+"/namespaces/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Count == 1
}

func TestLife(t *testing.T) {
	s := newStorages(t)
	ns := s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	if !slices.Equal(ns.Spec.Finalizers, []corev1.FinalizerName{"kubernetes"}) || ns.Status.Phase != corev1.NamespaceActive ||
		ns.Labels["kubernetes.io/metadata.name"] != "a" || !s.exists(t, "a") {
		t.Fatalf("created %+v", ns)
	}

	// PUT changes neither finalizers nor status.
	changed := ns.DeepCopy()
	changed.Labels["x"] = "y"
	changed.Spec.Finalizers, changed.Status.Phase = nil, corev1.NamespaceTerminating
	changed = s.update(t, s.main, changed)
	if changed.Labels["x"] != "y" || len(changed.Spec.Finalizers) != 1 || changed.Status.Phase != corev1.NamespaceActive {
		t.Fatalf("updated to %+v", changed)
	}

	// A dry run shows what deletion would do, and does nothing.
	ending, gone := s.remove(t, "a", &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	if gone || ending.Status.Phase != corev1.NamespaceTerminating {
		t.Fatalf("dry run: gone %v, %+v", gone, ending.Status)
	}

	// DELETE makes it terminate; a second one changes nothing.
	ending, gone = s.remove(t, "a", &metav1.DeleteOptions{})
	if gone || ending.Status.Phase != corev1.NamespaceTerminating || ending.DeletionTimestamp == nil {
		t.Fatalf("deleted: gone %v, %+v", gone, ending)
	}
	again, gone := s.remove(t, "a", &metav1.DeleteOptions{})
	if gone || again.ResourceVersion != ending.ResourceVersion {
		t.Fatalf("deleted again: gone %v, %+v", gone, again)
	}

	// A status update cannot end it; finalize does.
	kept := s.update(t, s.status, again)
	kept.Spec.Finalizers = nil
	if !s.exists(t, "a") {
		t.Fatal("a status update ended it")
	}
	s.update(t, s.finalize, kept)
	if s.exists(t, "a") {
		t.Error("still there after its last finalizer went")
	}
}

func TestFinalizeWaitsForMetadataFinalizers(t *testing.T) {
	s := newStorages(t)
	s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a", Finalizers: []string{"example.com/wait"}}})
	ns, _ := s.remove(t, "a", nil)
	ns.Spec.Finalizers = nil
	ns = s.update(t, s.finalize, ns)
	if !s.exists(t, "a") {
		t.Fatal("gone although it has a finalizer")
	}
	// Without spec.finalizers, the update that takes the last finalizer away removes it.
	ns.Finalizers = nil
	s.update(t, s.main, ns)
	if s.exists(t, "a") {
		t.Error("still there")
	}
}

func TestDeleteWithoutFinalizers(t *testing.T) {
	s := newStorages(t)
	ns := s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	ns.Spec.Finalizers = nil
	// Not terminating yet: an empty list of finalizers does not remove it.
	s.update(t, s.finalize, ns)
	if !s.exists(t, "a") {
		t.Fatal("gone without a DELETE")
	}
	s.remove(t, "a", nil)
	last, gone := s.remove(t, "a", nil)
	if !gone || last.Name != "a" || s.exists(t, "a") {
		t.Errorf("gone %v: %+v", gone, last)
	}
}

func TestDeletePreconditions(t *testing.T) {
	s := newStorages(t)
	ns := s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	for name, tc := range map[string]struct {
		preconditions metav1.Preconditions
		want          string
	}{
		"UID": {metav1.Preconditions{UID: new(types.UID("other"))},
			`Operation cannot be fulfilled on namespaces "a": Precondition failed: UID in precondition: other, UID in object meta: ` + string(ns.UID)},
		"resourceVersion": {metav1.Preconditions{ResourceVersion: new("1")},
			`Operation cannot be fulfilled on namespaces "a": Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: ` + ns.ResourceVersion},
	} {
		_, _, err := s.main.Delete(builtintest.Context(t, ""), "a", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{Preconditions: &tc.preconditions})
		if !apierrors.IsConflict(err) || err.Error() != tc.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err := s.main.Delete(builtintest.Context(t, ""), "b", rest.ValidateAllObjectFunc, nil)
	if !apierrors.IsNotFound(err) {
		t.Errorf("a namespace that is not there: %v", err)
	}
}

func TestGeneratedNameIsLabelled(t *testing.T) {
	s := newStorages(t)
	ns := s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}})
	if ns.Name == "" || ns.Labels["kubernetes.io/metadata.name"] != ns.Name {
		t.Errorf("%q is labelled %v", ns.Name, ns.Labels)
	}
}

func TestNoDeleteCollection(t *testing.T) {
	if _, ok := any(&core.NamespaceREST{}).(rest.CollectionDeleter); ok {
		t.Error("all namespaces can be deleted with one request")
	}
	if _, ok := any(&core.FinalizeREST{}).(rest.Getter); ok {
		t.Error("finalize can be read")
	}
}
