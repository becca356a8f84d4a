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
	line := strings.Fields(trace("--wait", "1", "--timeout", "3m", "verb:delete name:low"))
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

// TestBlameOfObjects finds who gave a field its value when the object is named: by the newest request that was recorded with its objects,
// or by managedFields.
func TestBlameOfObjects(t *testing.T) {
	server := serve(t, "--ephemeral")
	maps := recorded(t, server).CoreV1().ConfigMaps("default")
	seen := configMap("seen")
	seen.Data = map[string]string{"a": "1", "b": "1"}
	seen, err := maps.Create(t.Context(), seen, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen.Data["b"] = "2"
	if _, err := maps.Update(t.Context(), seen, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	apply := kx(t, "--kubeconfig", server.kubeconfig, "apply", "--server-side", "-f", "-")
	apply.Stdin = strings.NewReader(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"plain"},"data":{"a":"1"}}`)
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file := filepath.Join(t.TempDir(), "all.kxtrace")
	if out, err := kx(t, "trace", "--kubeconfig", server.kubeconfig, "save", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range []struct {
		args  []string
		wants []string
		fails bool
	}{
		{[]string{"configmap/seen", "data.b"}, []string{"the newest request that changed data.b of configmaps/seen", "PUT /api/v1/namespaces/default/configmaps/seen", `"1" → "2"`}, false},
		{[]string{"cm/seen", "data.a"}, []string{"POST /api/v1/namespaces/default/configmaps", `nothing → "1"`}, false},
		{[]string{"configmaps/seen"}, []string{"the newest request that changed configmaps/seen", "PUT", "a client asked for it: kx-admin"}, false},
		{[]string{"configmap/plain", "data.a"}, []string{"managedFields say", `configmaps/plain  data.a  "1"`, "kubectl  Apply, 2"}, false},
		{[]string{"namespace/default", "spec.finalizers"}, []string{"namespaces/default"}, false},
		{[]string{"--file", file, "configmaps/seen", "data.b"}, []string{"PUT", `"1" → "2"`}, false},
		{[]string{"--file", file, "configmap/seen", "data.b"}, []string{"has no request that changed data.b of configmap/seen: its requests are about", "configmaps"}, true},
		{[]string{"configmap/seen", "data.c"}, []string{"configmaps/seen has no field data.c"}, true},
		{[]string{"configmap/seen", "data["}, []string{"has a [ without a ]"}, true},
		{[]string{"configmap/none", "data.a"}, []string{`configmaps "none" not found`}, true},
		{[]string{"configmap/none"}, []string{"the server remembers no request that wrote configmaps/none"}, true},
		{[]string{"configmap/seen", "data.a", "-n", "elsewhere"}, []string{`configmaps "seen" not found`}, true},
		{[]string{"gadget/seen", "data.a"}, []string{`the server has no resource "gadget"`}, true},
		{[]string{"configmap/seen/more", "data.a"}, []string{"neither the ID of a request nor RESOURCE/NAME"}, true},
	} {
		out, err := kx(t, append([]string{"trace", "--kubeconfig", server.kubeconfig, "blame"}, c.args...)...).CombinedOutput()
		if (err != nil) != c.fails {
			t.Errorf("%v: %v", c.args, err)
		}
		for _, want := range c.wants {
			if !strings.Contains(string(out), want) {
				t.Errorf("%v: %q is not in\n%s", c.args, want, out)
			}
		}
	}
}
