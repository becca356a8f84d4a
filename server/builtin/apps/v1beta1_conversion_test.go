package apps_test

import (
	"encoding/json"
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/api/apps/v1beta1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
)

const rounds = 200

// TestV1beta1RoundTrip converts random objects to the other version and back, and finds them as they were.
func TestV1beta1RoundTrip(t *testing.T) {
	fill := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), scheme.Codecs)
	for name, pair := range map[string]struct{ from, over func() runtime.Object }{
		"deployment, over apps/v1": {
			func() runtime.Object { return &v1beta1.Deployment{} }, func() runtime.Object { return &appsv1.Deployment{} }},
		"deployment, over apps/v1beta1": {
			func() runtime.Object { return &appsv1.Deployment{} }, func() runtime.Object { return &v1beta1.Deployment{} }},
		"list, over apps/v1": {
			func() runtime.Object { return &v1beta1.DeploymentList{} }, func() runtime.Object { return &appsv1.DeploymentList{} }},
		"list, over apps/v1beta1": {
			func() runtime.Object { return &appsv1.DeploymentList{} }, func() runtime.Object { return &v1beta1.DeploymentList{} }},
	} {
		t.Run(name, func(t *testing.T) {
			for range rounds {
				object := pair.from()
				fill.Fill(object)
				stripKinds(object)
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

func convert(t *testing.T, in, out runtime.Object) {
	t.Helper()
	if err := scheme.Scheme.Convert(in, out, nil); err != nil {
		t.Fatal(err)
	}
}

// stripKinds clears apiVersion and kind, which conversion is not about.
func stripKinds(object runtime.Object) {
	switch o := object.(type) {
	case *v1beta1.Deployment:
		o.TypeMeta = metav1.TypeMeta{}
	case *appsv1.Deployment:
		o.TypeMeta = metav1.TypeMeta{}
	case *v1beta1.DeploymentList:
		o.TypeMeta = metav1.TypeMeta{}
		for i := range o.Items {
			stripKinds(&o.Items[i])
		}
	case *appsv1.DeploymentList:
		o.TypeMeta = metav1.TypeMeta{}
		for i := range o.Items {
			stripKinds(&o.Items[i])
		}
	}
}

func TestV1beta1Scale(t *testing.T) {
	for name, tc := range map[string]struct {
		selector string
		want     v1beta1.ScaleStatus
	}{
		"nothing":     {"", v1beta1.ScaleStatus{Replicas: 2, Selector: map[string]string{}}},
		"labels":      {"a=b,c=d", v1beta1.ScaleStatus{Replicas: 2, TargetSelector: "a=b,c=d", Selector: map[string]string{"a": "b", "c": "d"}}},
		"expressions": {"a in (b,c)", v1beta1.ScaleStatus{Replicas: 2, TargetSelector: "a in (b,c)"}},
	} {
		t.Run(name, func(t *testing.T) {
			hub := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: autoscalingv1.ScaleSpec{Replicas: 3},
				Status: autoscalingv1.ScaleStatus{Replicas: 2, Selector: tc.selector}}
			old, back := &v1beta1.Scale{}, &autoscalingv1.Scale{}
			convert(t, hub, old)
			want := &v1beta1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: v1beta1.ScaleSpec{Replicas: 3}, Status: tc.want}
			if !apiequality.Semantic.DeepEqual(want, old) {
				t.Error(cmp.Diff(want, old))
			}
			convert(t, old, back)
			if diff := cmp.Diff(hub, back); diff != "" {
				t.Errorf("came back changed: %s", diff)
			}
		})
	}
	older := &v1beta1.Scale{Status: v1beta1.ScaleStatus{Selector: map[string]string{"a": "b"}}}
	hub := &autoscalingv1.Scale{}
	convert(t, older, hub)
	if hub.Status.Selector != "a=b" {
		t.Errorf("selector of a client that knows only the older field: %q", hub.Status.Selector)
	}
	if err := scheme.Scheme.Convert(&autoscalingv1.Scale{Status: autoscalingv1.ScaleStatus{Selector: "a in"}}, older, nil); err == nil {
		t.Error("a selector that can't be read was converted")
	}
}

func TestV1beta1Defaults(t *testing.T) {
	d := &v1beta1.Deployment{}
	unmarshal(t, `{"spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}`, d)
	scheme.Scheme.Default(d)
	want := &v1beta1.Deployment{}
	unmarshal(t, `{"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
		"containers": [{"name": "c", "image": "i", "resources": {}, "imagePullPolicy": "Always",
			"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}],
		"restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst", "securityContext": {},
		"schedulerName": "default-scheduler"}},
		"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
		"revisionHistoryLimit": 2, "progressDeadlineSeconds": 600}}`, want)
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	recreate := &v1beta1.Deployment{Spec: v1beta1.DeploymentSpec{Strategy: v1beta1.DeploymentStrategy{Type: "Recreate"}}}
	scheme.Scheme.Default(recreate)
	if recreate.Spec.Strategy.RollingUpdate != nil {
		t.Error("Recreate got a rolling update")
	}
	list := &v1beta1.DeploymentList{Items: []v1beta1.Deployment{{}}}
	scheme.Scheme.Default(list)
	if *list.Items[0].Spec.Replicas != 1 {
		t.Error("a list's items got no defaults")
	}
}

func unmarshal(t *testing.T, data string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(data), into); err != nil {
		t.Fatal(err)
	}
}

func TestV1beta1Rollback(t *testing.T) {
	const key = "deprecated.deployment.rollback.to"
	old := &v1beta1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "b"}},
		Spec: v1beta1.DeploymentSpec{RollbackTo: &v1beta1.RollbackConfig{Revision: 7}}}
	hub, back := &appsv1.Deployment{}, &v1beta1.Deployment{}
	convert(t, old, hub)
	if diff := cmp.Diff(map[string]string{"a": "b", key: "7"}, hub.Annotations); diff != "" {
		t.Error(diff)
	}
	convert(t, hub, back)
	if diff := cmp.Diff(old, back); diff != "" {
		t.Error(diff)
	}
	// The annotation alone is not the field: a client that took the field away meant that.
	convert(t, &v1beta1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "b", key: "7"}}}, hub)
	if diff := cmp.Diff(map[string]string{"a": "b"}, hub.Annotations); diff != "" {
		t.Error(diff)
	}
	hub.Annotations[key] = "seven"
	if err := scheme.Scheme.Convert(hub, back, nil); err == nil {
		t.Error("an annotation that is no number was converted")
	}
}
