package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTraceWait waits for requests that were there before, for one that comes, and for one that never does.
func TestTraceWait(t *testing.T) {
	newTyping(t)
	if a := typeCommand("create", "configmap", "waited"); a.code != 0 {
		t.Fatal(a.err)
	}
	if a := typeCommand("trace", "--wait", "1", "--timeout", "3m", "verb:create uri:*configmaps*"); a.code != 0 || strings.Count(a.out, "\n") != 1 || !strings.Contains(a.out, "POST /api/v1/namespaces/default/configmaps") {
		t.Errorf("what has happened: exit code %d, %s%s", a.code, a.out, a.err)
	}
	// In a process of its own: kubectl's commands have variables that are the process's.
	type ended struct {
		out []byte
		err error
	}
	kubeconfig := filepath.Join(os.Getenv("HOME"), ".kx", "kubeconfig")
	late := make(chan ended, 1)
	waiting := kx(t, "trace", "--kubeconfig", kubeconfig, "--wait", "1", "verb:delete resource:configmaps", "--timeout", "3m")
	go func() {
		out, err := waiting.Output()
		late <- ended{out, err}
	}()
	if a := typeCommand("delete", "configmap", "waited"); a.code != 0 {
		t.Fatal(a.err)
	}
	if e := <-late; e.err != nil || strings.Count(string(e.out), "\n") != 1 || !strings.Contains(string(e.out), "DELETE ") {
		t.Errorf("what happens: %v, %s", e.err, e.out)
	}
	if a := typeCommand("trace", "--wait", "3", "verb:delete resource:configmaps", "--timeout", "1s"); a.code != 1 || !strings.Contains(a.err, "of 3 requests matched within 1s") {
		t.Errorf("what does not happen: exit code %d, %s%s", a.code, a.out, a.err)
	}
	if a := typeCommand("trace", "--wait", "1", "after:nobody-7"); a.code != 1 || !strings.Contains(a.err, `no request "nobody-7" is known here`) {
		t.Errorf("after nobody: exit code %d, %s%s", a.code, a.out, a.err)
	}
	if a := typeCommand("trace", "--wait", "1", "--timeout", "3m", "store.create -> step(etcd.txn why:free) steps(etcd.txn)=1", "--resource", "configmaps"); a.code != 0 || strings.Count(a.out, "\n") != 1 {
		t.Errorf("steps in their order: exit code %d, %s%s", a.code, a.out, a.err)
	}
	if a := typeCommand("trace", "ls", "--verb", "create,delete", "resource:configmaps"); a.code != 0 || strings.Count(a.out, "\n") != 2 || !strings.Contains(a.out, "POST ") || !strings.Contains(a.out, "DELETE ") {
		t.Errorf("the list: exit code %d, %s%s", a.code, a.out, a.err)
	}
	if a := typeCommand("trace", "ls", "verb:create", "-o", "json"); a.code != 0 || !strings.HasPrefix(a.out, "{") {
		t.Errorf("the list as JSON: exit code %d, %s%s", a.code, a.out, a.err)
	}
}
