package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLessonOfAJourney makes lessons of requests that a server has answered, and plays them: they are true as they are written, and the
// change of the server that they name makes them fail.
func TestLessonOfAJourney(t *testing.T) {
	t.Parallel()
	p := serve(t, "--data-dir", t.TempDir())
	run := func(args ...string) string {
		t.Helper()
		out, err := kx(t, append(args, "--kubeconfig", p.kubeconfig)...).CombinedOutput()
		if err != nil && !strings.Contains(string(out), "NotFound") {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	run("create", "configmap", "hello", "--from-literal=a=it's b", "--trace")
	run("get", "configmap", "hello")
	run("get", "configmap", "nobody")
	run("get", "configmaps")
	dir := t.TempDir()
	for _, c := range []struct {
		filter string
		steps  string
		wants  []string
	}{
		{"verb:create name:hello", "", []string{"handler.create -> rest.create -> store.create -> dryrun.create -> etcd3.create", "it's b", "predict id=next-1", "reveal=next-1", "fault: "}},
		{"verb:get name:hello code:200", "store.get,cacher.get", []string{"(store.get -> cacher.get)", "reason:"}},
		{"verb:get name:nobody", "", []string{"run id=ask fails", "code:404"}},
		{"verb:list resource:configmaps", "", []string{"(handler.list -> rest.list"}},
	} {
		found := regexp.MustCompile(`\S+\s*$`).FindString(strings.TrimSpace(run("trace", "ls", c.filter)))
		file := strings.Trim(notInName.ReplaceAllString(c.filter, "-"), "-") + ".md"
		args := []string{"new", file, "--from", strings.TrimSpace(found), "--kubeconfig", p.kubeconfig}
		if c.steps != "" {
			args = append(args, "--steps", c.steps)
		}
		if out, code := learnHere(t, dir, args...); code != 0 {
			t.Fatalf("%s: %s", c.filter, out)
		}
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: the lesson has no %q:\n%s", c.filter, want, text)
			}
		}
		if out, code := learnHere(t, dir, "verify", "--yes", "./"+file); code != 0 {
			t.Errorf("%s: the lesson does not hold: %s\n%s", c.filter, out, text)
		}
		if strings.Contains(string(text), "mutation:") {
			if out, code := learnHere(t, dir, "verify", "--yes", "--mutate", "./"+file); code != 0 {
				t.Errorf("%s: %s", c.filter, out)
			}
		}
	}
	id := strings.TrimSpace(regexp.MustCompile(`\S+\s*$`).FindString(strings.TrimSpace(run("trace", "ls", "verb:get name:hello code:200"))))
	if out, code := learnHere(t, dir, "new", "x.md", "--from", id, "--steps", "etcd.txn", "--kubeconfig", p.kubeconfig); code != 1 || !strings.Contains(out, `did not take the step "etcd.txn"; its steps are filter.audit-init, `) {
		t.Errorf("%d: %s", code, out)
	}
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)
