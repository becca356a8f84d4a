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
		{[]string{"ls", "reason:key-moved.*"}, `there is no reason "key-moved.*"; near it: key-moved`},
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

// TestTraceSentences: a reason without a sentence, as earlier versions of kx wrote it, is shown in the reader's language by the reasons
// of this version, and one that this version does not know by the sentence that came with it.
func TestTraceSentences(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "saved")
	file := `{"kind":"KxCapture","version":1,"saved":"2026-11-27T20:00:00Z"}
{"metadata":{"name":"3f2a1c-1"},"spec":{"method":"PUT","uri":"/x","verb":"update"},"status":{"phase":"Complete","code":409,"steps":[` +
		`{"id":"etcd.txn","layer":"etcd","parent":-1,"why":"the key is elsewhere","reason":{"kind":"key-moved","values":[` +
		`{"name":"revision","value":"9"},{"name":"expected","value":"7"}]}},` +
		`{"id":"store.guess","layer":"store","parent":-1,"why":"the stars say 7","reason":{"kind":"the-stars","values":[` +
		`{"name":"n","value":"7"}]}}],"sentences":[{"kind":"the-stars","english":"the stars say {n}","chinese":"星象显示 {n}"}]}}
{"metadata":{"name":"3f2a1c-2"},"spec":{"method":"GET","uri":"/x","verb":"get"},"status":{"phase":"Complete","code":200,"steps":[` +
		`{"id":"store.guess","layer":"store","parent":-1,"why":"the stars say 8","reason":{"kind":"the-stars","values":[` +
		`{"name":"n","value":"8"}]}}]}}
`
	if err := os.WriteFile(saved, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		journey, language string
		want              []string
	}{
		{"3f2a1c-1", "zh", []string{"该键在修订版本 9，不是 7", "星象显示 7"}},
		{"3f2a1c-1", "en", []string{"the key is elsewhere", "the stars say 7"}},
		{"3f2a1c-2", "zh", []string{"星象显示 8"}},
		{"3f2a1c-2", "en", []string{"the stars say 8"}},
	} {
		a := typeCommand("trace", "show", test.journey, "--file", saved, "--lang", test.language)
		for _, want := range test.want {
			if a.code != 0 || !strings.Contains(a.out, want) {
				t.Errorf("%s in %s: exit code %d, want %q: %s%s", test.journey, test.language, a.code, want, a.err, a.out)
			}
		}
	}
}
