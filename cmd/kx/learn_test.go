package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/cmd/kx/internal/learn"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/docs"
	"github.com/kx-apiserver/kx/tui/play"
)

// learnHere runs kx learn with arguments in a directory, and returns its output and exit code.
func learnHere(t *testing.T, dir string, args ...string) (output string, code int) {
	t.Helper()
	cmd := kx(t, append([]string{"learn"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "LEARNER_HOME="+dir)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestLessonsApart holds what kx learn verify leaves out against what it says of that, and against the document.
func TestLessonsApart(t *testing.T) {
	entries, err := learn.Catalogue(lang.English)
	if err != nil {
		t.Fatal(err)
	}
	wanted, apart, err := lessonsToVerify(entries, nil)
	if err != nil || len(wanted)+len(apart) != len(entries) || len(apart) == 0 {
		t.Fatalf("of %d lessons %d are run, and %d are not: %v", len(entries), len(wanted), len(apart), err)
	}
	command := (&verifyOptions{}).command(apart)
	if text, err := fs.ReadFile(docs.Files, "learn/README.md"); err != nil || !strings.Contains(string(text), "`"+command+"`") {
		t.Errorf("docs/learn/README.md does not say that %s runs the rest: %v", command, err)
	}
	if mutated := (&verifyOptions{mutate: true}).command(apart); mutated != strings.Replace(command, "verify", "verify --mutate", 1) {
		t.Errorf("with mutations %s is %s", command, mutated)
	}
	named, rest, err := lessonsToVerify(entries, strings.Fields(strings.TrimPrefix(command, "kx learn verify")))
	if err != nil || len(named) != len(apart) || len(rest) > 0 {
		t.Errorf("%s runs %d lessons, and leaves out %d: %v", command, len(named), len(rest), err)
	}
	for i, e := range named {
		if e.ID != apart[i].ID {
			t.Errorf("%s runs %s and not %s", command, e.ID, apart[i].ID)
		}
	}
}

// TestLearnVerify plays a lesson with a block of each kind, and the one that kx learn new writes.
func TestLearnVerify(t *testing.T) {
	dir := t.TempDir()
	all, err := filepath.Abs("testdata/lessons/all.md")
	if err != nil {
		t.Fatal(err)
	}
	if out, code := learnHere(t, dir, "new", "my.md"); code != 0 || !strings.Contains(out, "kx learn verify ./my.md") {
		t.Fatalf("%d: %s", code, out)
	}
	for _, args := range [][]string{{"verify", "--yes", all, "./my.md"}, {"verify", "-y", "--mutate", all, "./my.md"}} {
		if out, code := learnHere(t, dir, args...); code != 0 || strings.Count(out, "\n") != 2 {
			t.Errorf("%q exited with %d:\n%s", args, code, out)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("it left %q", left)
	}
	if out, code := learnHere(t, dir, "new", "my.md"); code != 1 || !strings.Contains(out, "my.md is there already") {
		t.Errorf("%d: %s", code, out)
	}
}

// TestLearnPorts plays a lesson that listens at a port of its own twice at the same time.
func TestLearnPorts(t *testing.T) {
	t.Parallel()
	file, err := filepath.Abs("testdata/lessons/ports.md")
	if err != nil {
		t.Fatal(err)
	}
	if out, code := learnHere(t, t.TempDir(), "verify", "--yes", "--jobs=2", file, file); code != 0 || strings.Count(out, "2 of 2 hold") != 2 {
		t.Errorf("it exited with %d:\n%s", code, out)
	}
}

// TestLearnVerifyFails breaks the lesson that kx learn new writes, and reads what is said of it.
func TestLearnVerifyFails(t *testing.T) {
	dir := t.TempDir()
	if out, code := learnHere(t, dir, "new", "my.md"); code != 0 {
		t.Fatal(out)
	}
	good, err := os.ReadFile(filepath.Join(dir, "my.md"))
	if err != nil {
		t.Fatal(err)
	}
	const run = "kx create configmap maybe --from-literal=a=b --dry-run=server"
	for _, c := range []struct {
		name, old, new string
		args           []string
		want           []string
	}{
		{"too few requests", "1 verb:create resource:configmaps name:maybe code:201", "2 verb:create resource:configmaps", nil, []string{"expected 2 verb:create", "saw: 1 request", "POST /api/v1/namespaces/default/configmaps"}},
		{"none", "1 verb:create resource:configmaps name:maybe code:201", "1 verb:delete", nil, []string{"saw: requests since the run began: 1, none with verb:delete", "POST /api/v1"}},
		{"none of some", "1 verb:create resource:configmaps name:maybe code:201", "1 verb:create resource:configmaps code:409", nil, []string{"began: 1; 1 with verb:create resource:configmaps, none of these with code:409"}},
		{"a field", "gone configmap/maybe", "get namespace/default {.metadata.name} {.status.phase} = default Passive", nil, []string{"saw: {.metadata.name} is default, {.status.phase} is Active"}},
		{"no object", "gone configmap/maybe", "get configmap/maybe {.data.a} = b", nil, []string{"saw: there is none"}},
		{"no such kind", "gone configmap/maybe", "gone potato/maybe", nil, []string{"saw: the server has no such resource"}},
		{"an object", "gone configmap/maybe", "gone namespace/default", nil, []string{"saw: it is there"}},
		{"nothing of the kind printed", "gone configmap/maybe", `prints "potato"`, nil, []string{"saw: it printed configmap/maybe created"}},
		{"printed", "gone configmap/maybe", `hides "created"`, nil, []string{"saw: it was printed"}},
		{"an exit code", run + "\n```\n\n<!-- What must", "echo so && exit 3\n```\n\n<!-- What must", nil, []string{"line 28: run dry: it exited with 3, and 0 was expected; it printed:", "so"}},
		{"none that was expected", "run id=dry", "run id=dry fails", nil, []string{"it exited with 0, and was expected to fail"}},
		{"no end", run + "\n```\n\n<!-- What must", "sleep 100 & sleep 100\n```\n\n<!-- What must", []string{"limit"}, []string{"run dry: it took longer than 1s"}},
		{"no request in the background", run + "\n```\n\n<!-- What must", "true\n```\n\n<!-- What must", []string{"bg"}, []string{"run dry: a request was expected, and it ended without"}},
		{"a starter that solves", "\"store\n" + run, "", nil, nil},
		{"a solution that does not", "```solution id=store\nkx create", "```solution id=store\nkx get namespaces #", nil, []string{"expected 1 verb:create name:maybe step:etcd.txn"}},
		{"a step that it does not show", "step dryrun.create", "step etcd.txn", nil, []string{"show of dry: no request of dry is (verb:create name:maybe) step:etcd.txn"}},
		{"a step that is none", "etcd3.create\n", "etcd3.crate\n", nil, []string{"read of store: there is no step etcd3.crate"}},
		{"a text", "Say in two sentences", "`--dry`, `Store.Creat`, [x](y.md)", nil, []string{"no command has the flag --dry", "nothing in kx's source is called Creat", "the link to y.md leads nowhere"}},
		{"a flag", "minutes: 5", "minutes: 5\nserve: [--listn=x]", nil, []string{"my.md:6: serve: a lesson may not set --listn; it may set --"}},
		{"control characters", run + "\n```\n\n<!-- What must", "printf 'a\\033[31mb'; exit 1\n```\n\n<!-- What must", nil, []string{`a\x1b[31mb`}},
		{"a mutation of nothing", `filter: "step:rest.create resource:configmaps"`, `filter: "step:rest.create resource:secrets"`, []string{"mutate"}, []string{"the mutation changes nothing that is expected of dry"}},
		{"a format", "answer=2", "answer=9", nil, []string{"my.md:19: predict: answer=9"}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			text := string(good)
			args := []string{"verify", "--yes"}
			switch {
			case c.name == "a starter that solves":
				text = strings.Replace(text, "```starter id=store\n"+run, "```starter id=store\nkx create configmap maybe --from-literal=a=b", 1)
				c.want = []string{"with the starter of store all its expectations hold: nothing is left to do"}
			case !strings.Contains(text, c.old):
				t.Fatalf("the lesson has no %q", c.old)
			default:
				text = strings.Replace(text, c.old, c.new, 1)
			}
			for _, option := range c.args {
				switch option {
				case "limit":
					text = strings.Replace(text, "run id=dry", "run id=dry limit=1s", 1)
				case "bg":
					text = strings.Replace(text, "run id=dry", "run id=dry bg", 1)
				case "mutate":
					args = append(args, "--mutate")
				}
			}
			text = strings.ReplaceAll(text, "```expect of=dry", "```expect of=dry within=100ms")
			text = strings.ReplaceAll(text, "```expect of=store", "```expect of=store within=100ms")
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "my.md"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			out, code := learnHere(t, dir, append(args, "./my.md")...)
			if code != 1 {
				t.Errorf("it exited with %d", code)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
			}
		})
	}
}

// TestLearnList lists the lessons and what is done of them.
func TestLearnList(t *testing.T) {
	dir := t.TempDir()
	out, code := learnHere(t, dir, "--data-dir", dir)
	if code != 0 || !strings.Contains(out, "One GET") || !strings.Contains(out, "kx learn 1 opens the next one.") {
		t.Errorf("%d:\n%s", code, out)
	}
	progress, err := play.LoadProgress(filepath.Join(dir, progressFile))
	if err != nil {
		t.Fatal(err)
	}
	done := progress.Record("first-get")
	if err := json.Unmarshal([]byte(`{"done":"2026-01-02T03:04:05Z"}`), done); err != nil {
		t.Fatal(err)
	}
	progress.Record("create").Next = 3
	answered := *done.Done
	progress.Record("conflict").Answered = &answered
	if err := progress.Save(); err != nil {
		t.Fatal(err)
	}
	out, code = learnHere(t, dir, "--data-dir", dir, "--lang", "zh")
	if code != 0 || !strings.Contains(out, "分钟  uae  完成") || !strings.Contains(out, "已答题") || !strings.Contains(out, "我使用 Kubernetes") || !strings.Contains(out, "已开始") || !strings.Contains(out, "kx learn 2") {
		t.Errorf("%d:\n%s", code, out)
	}
	out, code = learnHere(t, dir, "--data-dir", dir, "--track", "extend")
	if code != 0 || !strings.Contains(out, "1 done, ") || strings.Contains(out, "I use Kubernetes") || strings.Contains(out, "debugging") || !strings.Contains(out, "webhook") {
		t.Errorf("%d:\n%s", code, out)
	}
	if out, code = learnHere(t, dir, "--track", "sleep"); code != 1 || !strings.Contains(out, "expected use, articles, extend") {
		t.Errorf("%d:\n%s", code, out)
	}
	if err := os.WriteFile(filepath.Join(dir, progressFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code = learnHere(t, dir, "--data-dir", dir); code != 1 || !strings.Contains(out, "remove the file to begin anew") {
		t.Errorf("%d:\n%s", code, out)
	}
}
