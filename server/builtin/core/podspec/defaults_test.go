package podspec

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// TestDefaults fills in testdata/*.in.json and compares with testdata/*.out.json.
func TestDefaults(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.json")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, input := range inputs {
		name := strings.TrimSuffix(filepath.Base(input), ".in.json")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			var object any
			if strings.HasPrefix(name, "template") {
				template := &corev1.PodTemplateSpec{}
				unmarshal(t, data, template)
				SetDefaultsPodTemplate(template)
				object = template
			} else {
				pod := &corev1.Pod{}
				unmarshal(t, data, pod)
				SetDefaultsPod(pod)
				CompletePodResources(&pod.Spec)
				object = pod
			}
			got, err := json.MarshalIndent(object, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			output := "testdata/" + name + ".out.json"
			if *rewrite {
				if err := os.WriteFile(output, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(output)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, got) {
				t.Error(cmp.Diff(string(want), string(got)))
			}
		})
	}
}

func unmarshal(t *testing.T, data []byte, into any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Fatal(err)
	}
}

func TestPullPolicy(t *testing.T) {
	sha := "@sha256:" + strings.Repeat("a", 64)
	for image, want := range map[string]corev1.PullPolicy{
		"nginx":                          corev1.PullAlways,
		"nginx:latest":                   corev1.PullAlways,
		"nginx:1.2":                      corev1.PullIfNotPresent,
		"nginx" + sha:                    corev1.PullIfNotPresent,
		"nginx:latest" + sha:             corev1.PullAlways,
		"nginx:1.2" + sha:                corev1.PullIfNotPresent,
		"localhost:5000/nginx":           corev1.PullAlways,
		"localhost:5000/a/b/nginx:v1":    corev1.PullIfNotPresent,
		"Registry.Example.com/nginx":     corev1.PullAlways,
		"[::1]:5000/nginx":               corev1.PullAlways,
		"Nginx":                          corev1.PullIfNotPresent,
		"":                               corev1.PullIfNotPresent,
		" nginx":                         corev1.PullIfNotPresent,
		"a//b":                           corev1.PullIfNotPresent,
		strings.Repeat("a", 64):          corev1.PullIfNotPresent,
		strings.Repeat("x", 300):         corev1.PullIfNotPresent,
		"nginx@sha256:short":             corev1.PullIfNotPresent,
		"example.com/a__b/c--d/e.f:tag_": corev1.PullIfNotPresent,
	} {
		if got := pullPolicyFor(image); got != want {
			t.Errorf("%q: got %s, want %s", image, got, want)
		}
	}
}
