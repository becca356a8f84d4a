package autoscaling_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
)

// testdata has autoscalers as a kube-apiserver v1.37.1 answers with them, in both versions: full and zero were created as
// autoscaling/v2, old as autoscaling/v1.

func read(t *testing.T, file string) (runtime.Object, map[string]any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return obj, parse(t, data)
}

func parse(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// written is obj as the API answers with it in a version.
func written(t *testing.T, obj runtime.Object, version schema.GroupVersion) map[string]any {
	t.Helper()
	data, err := runtime.Encode(scheme.Codecs.LegacyCodec(version), obj)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, data)
}

func TestConversions(t *testing.T) {
	for _, name := range []string{"full", "zero", "old"} {
		t.Run(name, func(t *testing.T) {
			hub, wantV2 := read(t, name+".v2.json")
			old, wantV1 := read(t, name+".v1.json")
			before := hub.DeepCopyObject()
			if diff := cmp.Diff(wantV1, written(t, hub, autoscalingv1.SchemeGroupVersion)); diff != "" {
				t.Errorf("as autoscaling/v1:\n%s", diff)
			}
			if diff := cmp.Diff(before, hub); diff != "" {
				t.Errorf("the conversion modified its input:\n%s", diff)
			}
			through := &v2.HorizontalPodAutoscaler{}
			if err := scheme.Scheme.Convert(old, through, nil); err != nil {
				t.Fatal(err)
			}
			if name != "full" { // the field's metric comes after those of the annotation
				if diff := cmp.Diff(wantV2["spec"], written(t, through, v2.SchemeGroupVersion)["spec"]); diff != "" {
					t.Errorf("as autoscaling/v2:\n%s", diff)
				}
			}
			if diff := cmp.Diff(wantV1, written(t, through, autoscalingv1.SchemeGroupVersion)); diff != "" {
				t.Errorf("over autoscaling/v2 and back:\n%s", diff)
			}
		})
	}
}

// TestAnnotations: what no server has written is no metric, and stays in no version.
func TestAnnotations(t *testing.T) {
	const prefix = "autoscaling.alpha.kubernetes.io/"
	for name, tc := range map[string]struct {
		value string
		check func(*v2.HorizontalPodAutoscaler) bool
	}{
		"metrics": {"no JSON", func(h *v2.HorizontalPodAutoscaler) bool {
			return *h.Spec.Metrics[0].Resource.Target.AverageUtilization == 80
		}},
		"behavior":             {"{}", func(h *v2.HorizontalPodAutoscaler) bool { return h.Spec.Behavior == nil }},
		"conditions":           {"7", func(h *v2.HorizontalPodAutoscaler) bool { return h.Status.Conditions == nil }},
		"current-metrics":      {"null", func(h *v2.HorizontalPodAutoscaler) bool { return len(h.Status.CurrentMetrics) == 0 }},
		"scale-up-tolerance":   {"1", func(h *v2.HorizontalPodAutoscaler) bool { return h.Spec.Behavior == nil }},
		"scale-down-tolerance": {"1", func(h *v2.HorizontalPodAutoscaler) bool { return h.Spec.Behavior == nil }},
	} {
		t.Run(name, func(t *testing.T) {
			given := map[string]string{"a": "b", prefix + name: tc.value}
			in := &autoscalingv1.HorizontalPodAutoscaler{}
			in.Annotations = maps.Clone(given)
			hub, out := &v2.HorizontalPodAutoscaler{}, &autoscalingv1.HorizontalPodAutoscaler{}
			for _, step := range [][2]runtime.Object{{in, hub}, {hub, out}} {
				if err := scheme.Scheme.Convert(step[0], step[1], nil); err != nil {
					t.Fatal(err)
				}
			}
			if !tc.check(hub) {
				t.Errorf("became %+v", hub)
			}
			for _, annotations := range []map[string]string{hub.Annotations, out.Annotations} {
				if diff := cmp.Diff(map[string]string{"a": "b"}, annotations); diff != "" {
					t.Error(diff)
				}
			}
			if diff := cmp.Diff(given, in.Annotations); diff != "" {
				t.Errorf("the conversion modified its input:\n%s", diff)
			}
		})
	}
}

// TestLists converts every item.
func TestLists(t *testing.T) {
	obj, _ := read(t, "full.v2.json")
	list := &v2.HorizontalPodAutoscalerList{Items: []v2.HorizontalPodAutoscaler{*obj.(*v2.HorizontalPodAutoscaler)}}
	old, back := &autoscalingv1.HorizontalPodAutoscalerList{}, &v2.HorizontalPodAutoscalerList{}
	for _, step := range [][2]runtime.Object{{list, old}, {old, back}} {
		if err := scheme.Scheme.Convert(step[0], step[1], nil); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(old.Items[0].Annotations["autoscaling.alpha.kubernetes.io/metrics"], "packets") || len(back.Items[0].Spec.Metrics) != 6 {
		t.Errorf("became %+v, and back %+v", old, back)
	}
}
