package object_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
)

var versioner object.APIObjectVersioner

// objects are of the kinds that there are: typed, unstructured, and metadata alone.
func objects() []runtime.Object {
	objects := []runtime.Object{&corev1.Pod{}, &unstructured.Unstructured{Object: map[string]any{}}, &metav1.PartialObjectMetadata{}}
	for _, obj := range objects {
		m := obj.(metav1.Object)
		m.SetResourceVersion("7")
		m.SetSelfLink("/a")
	}
	return objects
}

func TestRevisionsInAndOut(t *testing.T) {
	for _, obj := range objects() {
		m := obj.(metav1.Object)
		if rv, err := versioner.ObjectResourceVersion(obj); rv != 7 || err != nil {
			t.Errorf("%T: revision %d, %v", obj, rv, err)
		}
		if err := versioner.UpdateObject(obj, 12); err != nil || m.GetResourceVersion() != "12" {
			t.Errorf("%T: updated to %q, %v", obj, m.GetResourceVersion(), err)
		}
		if err := versioner.PrepareObjectForStorage(obj); err != nil || m.GetResourceVersion() != "" || m.GetSelfLink() != "" {
			t.Errorf("%T: prepared with %q and %q, %v", obj, m.GetResourceVersion(), m.GetSelfLink(), err)
		}
		if rv, err := versioner.ObjectResourceVersion(obj); rv != 0 || err != nil {
			t.Errorf("%T: without a revision %d, %v", obj, rv, err)
		}
		m.SetResourceVersion("7")
		if err := versioner.UpdateObject(obj, 0); err != nil || m.GetResourceVersion() != "" {
			t.Errorf("%T: 0 became %q, %v", obj, m.GetResourceVersion(), err)
		}
		m.SetResourceVersion("garbage")
		if _, err := versioner.ObjectResourceVersion(obj); err == nil {
			t.Errorf("%T: garbage is a revision", obj)
		}
	}
}

func TestWithoutMetadata(t *testing.T) {
	status := &metav1.Status{}
	for name, err := range map[string]error{
		"UpdateObject":            versioner.UpdateObject(status, 1),
		"PrepareObjectForStorage": versioner.PrepareObjectForStorage(status),
	} {
		if err == nil {
			t.Errorf("%s took an object without metadata", name)
		}
	}
	if _, err := versioner.ObjectResourceVersion(status); err == nil {
		t.Error("an object without metadata has a revision")
	}
}

func TestUpdateList(t *testing.T) {
	for _, list := range []runtime.Object{&corev1.PodList{}, &unstructured.UnstructuredList{}} {
		left := int64(3)
		if err := versioner.UpdateList(list, 9, "token", &left); err != nil {
			t.Fatal(err)
		}
		m := list.(metav1.ListInterface)
		if m.GetResourceVersion() != "9" || m.GetContinue() != "token" || *m.GetRemainingItemCount() != 3 {
			t.Errorf("%T: %q, %q, %d", list, m.GetResourceVersion(), m.GetContinue(), *m.GetRemainingItemCount())
		}
		if err := versioner.UpdateList(list, 0, "", nil); err == nil {
			t.Errorf("%T: a list of no revision", list)
		}
	}
}

func TestParseResourceVersion(t *testing.T) {
	for in, want := range map[string]uint64{"": 0, "0": 0, "12": 12, "18446744073709551615": 1<<64 - 1} {
		if rv, err := versioner.ParseResourceVersion(in); rv != want || err != nil {
			t.Errorf("%q: %d, %v", in, rv, err)
		}
	}
	for _, in := range []string{"x", "-1", "1.0", " 1", "18446744073709551616"} {
		if _, err := versioner.ParseResourceVersion(in); !errors.As(err, new(object.InvalidError)) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestCompareResourceVersion(t *testing.T) {
	at := func(rv string) runtime.Object { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: rv}} }
	for _, test := range []struct {
		left, right string
		want        int
	}{{"9", "10", -1}, {"10", "9", 1}, {"9", "9", 0}, {"", "1", -1}} {
		if got := versioner.CompareResourceVersion(at(test.left), at(test.right)); got != test.want {
			t.Errorf("%q to %q: %d", test.left, test.right, got)
		}
	}
}
