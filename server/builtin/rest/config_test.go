package rest

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestParseRuntimeConfig(t *testing.T) {
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	secrets := corev1.SchemeGroupVersion.WithResource("secrets")
	v1 := appsv1.SchemeGroupVersion.WithResource("deployments")
	beta1 := appsv1beta1.SchemeGroupVersion.WithResource("deployments")
	beta2 := appsv1beta2.SchemeGroupVersion.WithResource("deployments")
	all := []schema.GroupVersionResource{pods, secrets, v1, beta1, beta2}
	for _, tc := range []struct {
		config string
		want   []schema.GroupVersionResource
	}{
		{"", []schema.GroupVersionResource{pods, secrets, v1}},
		{"apps/v1beta1=true", []schema.GroupVersionResource{pods, secrets, v1, beta1}},
		{"apps/v1beta1", []schema.GroupVersionResource{pods, secrets, v1, beta1}},
		{"api/all=true", all},
		{"api/beta=true", all},
		{"api/alpha=true", []schema.GroupVersionResource{pods, secrets, v1}},
		{"api/ga=false,apps/v1beta2=true", []schema.GroupVersionResource{beta2}},
		{"api/all=false,v1=true", []schema.GroupVersionResource{pods, secrets}},
		{"api/all=false,api/v1=true", []schema.GroupVersionResource{pods, secrets}},
		{"api/all=false,api/beta=true", []schema.GroupVersionResource{beta1, beta2}},
		{"api/all=false,apps/v1/deployments=true", []schema.GroupVersionResource{v1}},
		{"v1/secrets=false", []schema.GroupVersionResource{pods, v1}},
		{"api/v1/secrets=false", []schema.GroupVersionResource{pods, v1}},
		{"apps/v1beta1/deployments=true,apps/v1=false", []schema.GroupVersionResource{pods, secrets, beta1}},
	} {
		c, err := ParseRuntimeConfig(pairs(tc.config))
		if err != nil {
			t.Errorf("%q: %v", tc.config, err)
			continue
		}
		var got []schema.GroupVersionResource
		for _, r := range all {
			if c.ResourceEnabled(r) {
				got = append(got, r)
			}
		}
		if len(got) != len(tc.want) {
			t.Errorf("%q: %v, want %v", tc.config, got, tc.want)
			continue
		}
		for i := range got {
			if got[i] != tc.want[i] {
				t.Errorf("%q: %v, want %v", tc.config, got, tc.want)
			}
		}
	}
}

func pairs(config string) map[string]string {
	m := map[string]string{}
	for pair := range strings.SplitSeq(config, ",") {
		if pair != "" {
			key, value, _ := strings.Cut(pair, "=")
			m[key] = value
		}
	}
	return m
}

func TestParseRuntimeConfigRefuses(t *testing.T) {
	for config, want := range map[string]string{
		"apps/v1beta1=maybe":  "--runtime-config: invalid value of apps/v1beta1: maybe: use true or false",
		"api/all=2":           "--runtime-config: invalid value of api/all: 2: use true or false",
		"api/all=false":       "--runtime-config: invalid key with only api/all=false: nothing would be served; enable something beside it",
		"batch/v1beta1=true":  "--runtime-config: batch/v1beta1: no such version: known are " + knownVersions(),
		"apps=true":           "--runtime-config: apps: no such version: known are " + knownVersions(),
		"v2=true":             "--runtime-config: v2: no such version: known are " + knownVersions(),
		"apps/v1/pods":        `--runtime-config: apps/v1/pods: apps/v1 has no resource "pods": known are controllerrevisions, daemonsets, deployments, replicasets, statefulsets`,
		"apps/v1beta1/x/y=no": "--runtime-config: invalid value of apps/v1beta1/x/y: no: use true or false",
		"a/b/c/d":             "--runtime-config: a/b/c/d: no such version: known are " + knownVersions(),
		"":                    "",
	} {
		_, err := ParseRuntimeConfig(pairs(config))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q:\n got %s\nwant %s", config, got, want)
		}
	}
}

func TestAnyResourceForGroupEnabled(t *testing.T) {
	for config, want := range map[string]bool{
		"":                                       true,
		"apps/v1=false":                          false,
		"api/all=false,v1=true":                  false,
		"apps/v1=false,api/beta":                 true,
		"apps/v1=false,apps/v1beta1/deployments": true,
	} {
		c, err := ParseRuntimeConfig(pairs(config))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.AnyResourceForGroupEnabled("apps"); got != want {
			t.Errorf("%q: %v", config, got)
		}
	}
	if DefaultAPIResourceConfig().AnyResourceForGroupEnabled("extensions") {
		t.Error("a group that is not there is served")
	}
}
