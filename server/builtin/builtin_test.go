package builtin

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestStrategyKnowsItsKind(t *testing.T) {
	s := Declare(Resource[*corev1.ConfigMap]{Stored: corev1.SchemeGroupVersion}).Strategy()
	kinds, _, err := s.ObjectKinds(&corev1.ConfigMap{})
	if err != nil || len(kinds) != 1 || kinds[0].String() != "/v1, Kind=ConfigMap" || !s.Recognizes(kinds[0]) {
		t.Errorf("%v, %v", kinds, err)
	}
	if kinds, _, err := s.ObjectKinds(&corev1.Pod{}); err == nil {
		t.Errorf("a pod is %v", kinds)
	}
}

func TestResourceThatDeclaresNothing(t *testing.T) {
	ctx := context.Background()
	s := Declare(Resource[*corev1.ConfigMap]{ClusterScoped: true}).Strategy()
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	before := obj.DeepCopy()
	s.PrepareForCreate(ctx, obj)
	s.PrepareForUpdate(ctx, obj, before)
	s.Canonicalize(obj)
	if diff := cmp.Diff(before, obj); diff != "" {
		t.Error(diff)
	}
	if s.WarningsOnCreate(ctx, obj) != nil || s.WarningsOnUpdate(ctx, obj, before) != nil {
		t.Error("it warns")
	}
	namespaced := Declare(Resource[*corev1.Pod]{}).Strategy().NamespaceScoped()
	if s.NamespaceScoped() || s.AllowCreateOnUpdate() || !s.AllowUnconditionalUpdate() || !namespaced {
		t.Error("wrong defaults")
	}
}

func TestStatusAndGeneration(t *testing.T) {
	ctx := context.Background()
	s := Declare(Resource[*corev1.Pod]{
		Spec:   func(pod *corev1.Pod) any { return &pod.Spec },
		Status: &Status[*corev1.Pod]{Of: func(pod *corev1.Pod) any { return &pod.Status }},
	}).Strategy()
	running := corev1.PodStatus{Phase: corev1.PodRunning}
	old := &corev1.Pod{Status: running}
	s.PrepareForCreate(ctx, old)
	if old.Generation != 1 || old.Status.Phase != "" {
		t.Errorf("created: generation %d, %q", old.Generation, old.Status.Phase)
	}
	old.Status = running
	for _, tc := range []struct {
		node string
		want int64
	}{{"", 1}, {"a", 2}} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: 1}, Spec: corev1.PodSpec{NodeName: tc.node}}
		s.PrepareForUpdate(ctx, pod, old)
		if pod.Generation != tc.want || pod.Status.Phase != corev1.PodRunning {
			t.Errorf("updated to node %q: generation %d, %q", tc.node, pod.Generation, pod.Status.Phase)
		}
	}
}

func TestStatusStrategy(t *testing.T) {
	ctx := context.Background()
	main := Declare(Resource[*corev1.Pod]{}).Strategy()
	part := Part[*corev1.Pod]{Keep: func(pod, old *corev1.Pod) { pod.Spec = old.Spec }}
	s := NewStatusStrategy(main, "status", corev1.SchemeGroupVersion, part)
	old := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "a"}}
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	s.PrepareForUpdate(ctx, pod, old)
	if pod.Spec.NodeName != "a" || pod.Status.Phase != corev1.PodRunning {
		t.Errorf("%+v", pod)
	}
	if errs := s.ValidateUpdate(ctx, pod, old); errs != nil {
		t.Error(errs)
	}
	if got := s.GetResetFields()["v1"].String(); got != ".spec" {
		t.Errorf("resets %s", got)
	}
	part.Check = func(pod, _ *corev1.Pod) field.ErrorList {
		return field.ErrorList{field.Forbidden(field.NewPath("status"), string(pod.Status.Phase))}
	}
	s = NewStatusStrategy(main, "status", corev1.SchemeGroupVersion, part)
	if errs := s.ValidateUpdate(ctx, pod, old); len(errs) != 1 || errs[0].Detail != "Running" {
		t.Error(errs)
	}
}

func TestFields(t *testing.T) {
	pods := Declare(Resource[*corev1.Pod]{Stored: corev1.SchemeGroupVersion, Fields: []Field[*corev1.Pod]{
		{Label: "spec.nodeName", Value: func(pod *corev1.Pod) string { return pod.Spec.NodeName }},
		{Label: "spec.host", AliasOf: "spec.nodeName"},
		{Label: "status.podIPs"},
	}})
	s := runtime.NewScheme()
	if err := pods.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]string{
		"metadata.name": "metadata.name", "metadata.namespace": "metadata.namespace", "spec.host": "spec.nodeName",
		"status.podIPs": "status.podIPs", "x": "",
	} {
		got, value, err := s.ConvertFieldLabel(corev1.SchemeGroupVersion.WithKind("Pod"), label, "v")
		if got != want || (err == nil) != (want != "") || err == nil && value != "v" {
			t.Errorf("%s: %q, %q, %v", label, got, value, err)
		}
		if err != nil && err.Error() != "field label not supported: x" {
			t.Error(err)
		}
	}
	_, set, err := pods.Attrs()(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b"}, Spec: corev1.PodSpec{NodeName: "n"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fields.Set{"metadata.name": "a", "metadata.namespace": "b", "spec.nodeName": "n"}, set); diff != "" {
		t.Error(diff)
	}
	if _, _, err := pods.Attrs()(&corev1.ConfigMap{}); err == nil {
		t.Error("a config map has a pod's fields")
	}
}

func TestMetaFields(t *testing.T) {
	for _, tc := range []struct {
		m    metav1.ObjectMeta
		want fields.Set
	}{
		{metav1.ObjectMeta{Name: "a", Namespace: "b"}, fields.Set{"metadata.name": "a", "metadata.namespace": "b"}},
		{metav1.ObjectMeta{Name: "a"}, fields.Set{"metadata.name": "a"}},
	} {
		if diff := cmp.Diff(tc.want, metaFields(&tc.m, 0)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestValidateFinalizer(t *testing.T) {
	path := field.NewPath("f")
	for name, valid := range map[string]bool{
		"kubernetes": true, "orphan": true, "foregroundDeletion": true, "example.com/x": true, "x": false, "": false, "a b": false,
	} {
		if errs := ValidateFinalizer(name, path); (len(errs) == 0) != valid {
			t.Errorf("%q: %v", name, errs)
		}
	}
}
