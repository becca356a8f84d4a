package builtin

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestOnlyTypesWithTheSameFieldsAreAlike(t *testing.T) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, eventsv1.AddToScheme, appsv1.AddToScheme, appsv1beta1.AddToScheme, schedulingv1.AddToScheme, schedulingv1beta1.AddToScheme,
	} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		one, other schema.GroupVersionKind
		wantErr    string
	}{
		"the same fields": {schedulingv1beta1.SchemeGroupVersion.WithKind("PriorityClass"), schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"), ""},
		"other names":     {eventsv1.SchemeGroupVersion.WithKind("Event"), corev1.SchemeGroupVersion.WithKind("Event"), "field 2 is v1.Event.EventTime and v1.Event.InvolvedObject"},
		"more fields": {appsv1beta1.SchemeGroupVersion.WithKind("Deployment"), appsv1.SchemeGroupVersion.WithKind("Deployment"),
			"field Spec: v1beta1.DeploymentSpec and v1.DeploymentSpec have 9 and 8 fields"},
		"no such kind": {corev1.SchemeGroupVersion.WithKind("Nope"), corev1.SchemeGroupVersion.WithKind("Pod"), `no kind "Nope"`},
	} {
		err := AddAlike(s, tc.one, tc.other)
		if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
