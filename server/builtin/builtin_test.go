package builtin

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
)

func TestTyper(t *testing.T) {
	for _, tc := range []struct {
		obj  runtime.Object
		want string
	}{
		{&corev1.Pod{}, "/v1, Kind=Pod"},
		{&appsv1.DeploymentList{}, "apps/v1, Kind=DeploymentList"},
		{&autoscalingv1.Scale{}, "autoscaling/v1, Kind=Scale"},
	} {
		kinds, _, err := NewStrategy(true).ObjectKinds(tc.obj)
		if err != nil || len(kinds) != 1 || kinds[0].String() != tc.want {
			t.Errorf("%T: %v, %v", tc.obj, kinds, err)
		}
	}
}

func TestStrategyDoesNothing(t *testing.T) {
	ctx := context.Background()
	s := NewStrategy(false)
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	before := obj.DeepCopy()
	s.PrepareForCreate(ctx, obj)
	s.PrepareForUpdate(ctx, obj, before)
	s.Canonicalize(obj)
	if diff := cmp.Diff(before, obj); diff != "" {
		t.Error(diff)
	}
	if s.Validate(ctx, obj) != nil || s.ValidateUpdate(ctx, obj, before) != nil || s.WarningsOnCreate(ctx, obj) != nil || s.WarningsOnUpdate(ctx, obj, before) != nil {
		t.Error("it says something")
	}
	if s.NamespaceScoped() || s.AllowCreateOnUpdate() || !s.AllowUnconditionalUpdate() || !NewStrategy(true).NamespaceScoped() {
		t.Error("wrong defaults")
	}
}

func TestStatusStrategy(t *testing.T) {
	ctx := context.Background()
	s := StatusStrategy[*corev1.Pod]{
		RESTUpdateStrategy: NewStrategy(true),
		Keep:               func(pod, old *corev1.Pod) { pod.Spec = old.Spec },
	}
	var _ rest.RESTUpdateStrategy = s
	old := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "a"}}
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	s.PrepareForUpdate(ctx, pod, old)
	if pod.Spec.NodeName != "a" || pod.Status.Phase != corev1.PodRunning {
		t.Errorf("%+v", pod)
	}
	if errs := s.ValidateUpdate(ctx, pod, old); errs != nil {
		t.Error(errs)
	}
	s.Check = func(pod, _ *corev1.Pod) field.ErrorList {
		return field.ErrorList{field.Forbidden(field.NewPath("status"), string(pod.Status.Phase))}
	}
	if errs := s.ValidateUpdate(ctx, pod, old); len(errs) != 1 || errs[0].Detail != "Running" {
		t.Error(errs)
	}
}

func TestAddFieldLabels(t *testing.T) {
	s := runtime.NewScheme()
	kind := corev1.SchemeGroupVersion.WithKind("Pod")
	if err := AddFieldLabels(s, kind, map[string]string{"spec.host": "spec.nodeName"}, "metadata.name", "spec.nodeName"); err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]string{"metadata.name": "metadata.name", "spec.host": "spec.nodeName", "x": ""} {
		got, value, err := s.ConvertFieldLabel(kind, label, "v")
		if got != want || (err == nil) != (want != "") || err == nil && value != "v" {
			t.Errorf("%s: %q, %q, %v", label, got, value, err)
		}
		if err != nil && err.Error() != "field label not supported: x" {
			t.Error(err)
		}
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
		if diff := cmp.Diff(tc.want, MetaFields(&tc.m, 0)); diff != "" {
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
