package apps_test

import (
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/api/apps/v1beta2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
)

// TestV1beta2RoundTrip converts random objects to the other version and back, and finds them as they were.
func TestV1beta2RoundTrip(t *testing.T) {
	fill := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), scheme.Codecs)
	for name, pair := range map[string]struct{ from, over func() runtime.Object }{
		"deployment, over apps/v1": {
			func() runtime.Object { return &v1beta2.Deployment{} }, func() runtime.Object { return &appsv1.Deployment{} }},
		"deployment, over apps/v1beta2": {
			func() runtime.Object { return &appsv1.Deployment{} }, func() runtime.Object { return &v1beta2.Deployment{} }},
		"list, over apps/v1": {
			func() runtime.Object { return &v1beta2.DeploymentList{} }, func() runtime.Object { return &appsv1.DeploymentList{} }},
		"list, over apps/v1beta2": {
			func() runtime.Object { return &appsv1.DeploymentList{} }, func() runtime.Object { return &v1beta2.DeploymentList{} }},
	} {
		t.Run(name, func(t *testing.T) {
			for range rounds {
				object := pair.from()
				fill.Fill(object)
				stripKindsV1beta2(object)
				before := object.DeepCopyObject()
				over, back := pair.over(), pair.from()
				convert(t, object, over)
				convert(t, over, back)
				if !apiequality.Semantic.DeepEqual(before, back) {
					t.Fatalf("came back changed: %s", cmp.Diff(before, back))
				}
				if !apiequality.Semantic.DeepEqual(before, object) {
					t.Fatalf("conversion modified its input: %s", cmp.Diff(before, object))
				}
			}
		})
	}
}

// stripKindsV1beta2 clears apiVersion and kind, which conversion is not about.
func stripKindsV1beta2(object runtime.Object) {
	switch o := object.(type) {
	case *v1beta2.Deployment:
		o.TypeMeta = metav1.TypeMeta{}
	case *appsv1.Deployment:
		o.TypeMeta = metav1.TypeMeta{}
	case *v1beta2.DeploymentList:
		o.TypeMeta = metav1.TypeMeta{}
		for i := range o.Items {
			stripKindsV1beta2(&o.Items[i])
		}
	case *appsv1.DeploymentList:
		o.TypeMeta = metav1.TypeMeta{}
		for i := range o.Items {
			stripKindsV1beta2(&o.Items[i])
		}
	}
}

func TestV1beta2Scale(t *testing.T) {
	for name, tc := range map[string]struct {
		selector string
		want     v1beta2.ScaleStatus
	}{
		"nothing":     {"", v1beta2.ScaleStatus{Replicas: 2, Selector: map[string]string{}}},
		"labels":      {"a=b,c=d", v1beta2.ScaleStatus{Replicas: 2, TargetSelector: "a=b,c=d", Selector: map[string]string{"a": "b", "c": "d"}}},
		"expressions": {"a in (b,c)", v1beta2.ScaleStatus{Replicas: 2, TargetSelector: "a in (b,c)"}},
	} {
		t.Run(name, func(t *testing.T) {
			hub := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: autoscalingv1.ScaleSpec{Replicas: 3},
				Status: autoscalingv1.ScaleStatus{Replicas: 2, Selector: tc.selector}}
			old, back := &v1beta2.Scale{}, &autoscalingv1.Scale{}
			convert(t, hub, old)
			want := &v1beta2.Scale{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: v1beta2.ScaleSpec{Replicas: 3}, Status: tc.want}
			if !apiequality.Semantic.DeepEqual(want, old) {
				t.Error(cmp.Diff(want, old))
			}
			convert(t, old, back)
			if diff := cmp.Diff(hub, back); diff != "" {
				t.Errorf("came back changed: %s", diff)
			}
		})
	}
	older := &v1beta2.Scale{Status: v1beta2.ScaleStatus{Selector: map[string]string{"a": "b"}}}
	hub := &autoscalingv1.Scale{}
	convert(t, older, hub)
	if hub.Status.Selector != "a=b" {
		t.Errorf("selector of a client that knows only the older field: %q", hub.Status.Selector)
	}
	if err := scheme.Scheme.Convert(&autoscalingv1.Scale{Status: autoscalingv1.ScaleStatus{Selector: "a in"}}, older, nil); err == nil {
		t.Error("a selector that can't be read was converted")
	}
}

func TestV1beta2Defaults(t *testing.T) {
	d := &v1beta2.Deployment{}
	unmarshal(t, `{"spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}`, d)
	scheme.Scheme.Default(d)
	want := &v1beta2.Deployment{}
	unmarshal(t, `{"spec": {"replicas": 1, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
		"containers": [{"name": "c", "image": "i", "resources": {}, "imagePullPolicy": "Always",
			"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}],
		"restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst", "securityContext": {},
		"schedulerName": "default-scheduler"}},
		"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
		"revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}}`, want)
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	recreate := &v1beta2.Deployment{Spec: v1beta2.DeploymentSpec{Strategy: v1beta2.DeploymentStrategy{Type: "Recreate"}}}
	scheme.Scheme.Default(recreate)
	if recreate.Spec.Strategy.RollingUpdate != nil {
		t.Error("Recreate got a rolling update")
	}
	list := &v1beta2.DeploymentList{Items: []v1beta2.Deployment{{}}}
	scheme.Scheme.Default(list)
	if *list.Items[0].Spec.Replicas != 1 {
		t.Error("a list's items got no defaults")
	}
}
