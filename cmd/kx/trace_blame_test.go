package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// TestBlameOfDependents leads from the deletion of a dependent to who deleted its owner's owner.
func TestBlameOfDependents(t *testing.T) {
	server := serve(t, "--ephemeral")
	maps := recorded(t, server).CoreV1().ConfigMaps("default")
	var owner *corev1.ConfigMap
	for _, name := range []string{"top", "middle", "low"} {
		cm := configMap(name)
		if owner != nil {
			cm.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
		}
		var err error
		if owner, err = maps.Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := maps.Delete(t.Context(), "top", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	trace := func(args ...string) string {
		t.Helper()
		out, err := kx(t, append([]string{"trace", "--kubeconfig", server.kubeconfig}, args...)...).Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return string(out)
	}
	line := strings.Fields(trace("--wait", "1", "verb:delete name:low"))
	low := line[len(line)-1]
	want := []string{
		"DELETE /api/v1/namespaces/default/configmaps/low", "kx/garbage-collector-controller: owners that it names: 1; owners that stay: 0", "because of revision",
		"DELETE /api/v1/namespaces/default/configmaps/middle", "kx/garbage-collector-controller: owners", "because of revision",
		"DELETE /api/v1/namespaces/default/configmaps/top", "a client asked for it: kx-admin",
	}
	check := func(text string) {
		t.Helper()
		at := 0
		for _, w := range want {
			i := strings.Index(text[at:], w)
			if i < 0 {
				t.Fatalf("%q is not in its place in\n%s", w, text)
			}
			at += i
		}
	}
	check(trace("blame", low))
	var chain []v1alpha1.Journey
	if err := json.Unmarshal([]byte(trace("blame", low, "-o", "json")), &chain); err != nil || len(chain) != 3 {
		t.Errorf("%d requests, %v", len(chain), err)
	}
	file := filepath.Join(t.TempDir(), "all.kxtrace")
	trace("save", file)
	check(trace("blame", "--file", file, low))
	some := filepath.Join(t.TempDir(), "some.kxtrace")
	trace("save", some, "verb:delete name:low")
	want = []string{"configmaps/low", "of which no more is known"}
	check(trace("blame", "--file", some, low))
}
