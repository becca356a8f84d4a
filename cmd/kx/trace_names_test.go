package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/capture"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// TestTraceNamesThatDoNotExist: every command that takes a filter refuses a name that there is not, and says which is near.
func TestTraceNamesThatDoNotExist(t *testing.T) {
	newTyping(t)
	saved := filepath.Join(t.TempDir(), "saved")
	if a := typeCommand("trace", "save", saved); a.code != 0 {
		t.Fatal(a.err)
	}
	const step = `there is no step "store.gett"; near it: store.get`
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"ls", "step:store.gett"}, step},
		{[]string{"ls", "store.gett -> etcd.txn"}, step},
		{[]string{"ls", "--verb", "gett"}, `there is no verb "gett"; near it: get`},
		{[]string{"ls", "layer:etdc"}, `there is no layer "etdc"; near it: etcd`},
		{[]string{"ls", "ressource:pods"}, `there is no field "ressource"; near it: resource`},
		{[]string{"ls", "step:kubelet.*"}, `there is no step "kubelet.*"; expected one of those that kx trace steps lists`},
		{[]string{"--wait", "1", "--timeout", "1s", "step:store.gett"}, step},
		{[]string{"save", filepath.Join(t.TempDir(), "file"), "step:store.gett"}, step},
		{[]string{"export", "step:store.gett"}, step},
		{[]string{"export", "step:store.gett", "--file", saved}, step},
	} {
		if a := typeCommand(append([]string{"trace"}, test.args...)...); a.code != 1 || !strings.Contains(a.err, test.want) || a.out != "" {
			t.Errorf("%v: exit code %d, want %q: %s%s", test.args, a.code, test.want, a.err, a.out)
		}
	}
	for _, open := range []string{"resource:nothings", "user:nobody", "code:999", "step:etcd.*"} {
		if a := typeCommand("trace", "ls", "name:nobody", open); a.code == 0 {
			t.Errorf("two filters were taken: %s", a.out)
		}
		if a := typeCommand("trace", "ls", open+" name:nobody"); a.code != 0 || a.out != "" {
			t.Errorf("%s: exit code %d: %s%s", open, a.code, a.err, a.out)
		}
	}
}

// TestTraceNamesOfAnotherVersion: of a capture that another version of kx wrote, a filter may ask for the steps that it has.
func TestTraceNamesOfAnotherVersion(t *testing.T) {
	var file bytes.Buffer
	w, err := capture.NewWriter(&file, "https://127.0.0.1:7443", time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"3f2a1c-1", "3f2a1c-2"} {
		j := &v1alpha1.Journey{ObjectMeta: metav1.ObjectMeta{Name: name}}
		j.Spec.Method, j.Spec.URI, j.Spec.Verb = "GET", "/api/v1/namespaces/"+name, "get"
		j.Status.Phase, j.Status.Code = v1alpha1.JourneyComplete, 200
		j.Status.Steps = []v1alpha1.Step{{ID: "store.guess-" + name, Layer: "store", Title: "guess"}}
		if err := w.Write(j); err != nil {
			t.Fatal(err)
		}
	}
	saved := filepath.Join(t.TempDir(), "saved")
	if err := os.WriteFile(saved, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	a := typeCommand("trace", "export", "--file", saved, "step:store.guess-3f2a1c-2")
	if a.code != 0 || !strings.Contains(a.out, "/namespaces/3f2a1c-2") || strings.Contains(a.out, "/namespaces/3f2a1c-1") {
		t.Errorf("exit code %d: %s%s", a.code, a.err, a.out)
	}
	a = typeCommand("trace", "export", "--file", saved, "step:store.guess-3f2a1c-3")
	if want := `"store.guess-3f2a1c-3"; near it: store.guess-3f2a1c-1, store.guess-3f2a1c-2`; a.code != 1 || !strings.Contains(a.err, want) {
		t.Errorf("exit code %d: %s%s", a.code, a.err, a.out)
	}
}
