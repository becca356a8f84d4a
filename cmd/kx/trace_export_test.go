package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	screen "github.com/kx-apiserver/kx/tui/capture"
)

// TestTraceExport writes documents of a server and of a capture, of one request and of several.
func TestTraceExport(t *testing.T) {
	p := newTyping(t)
	for _, name := range []string{"one", "two"} {
		p.remember(typeCommand("create", "configmap", name, "--from-literal=k=v", "--trace"))
	}
	id, capture := p.values["ID"], filepath.Join(t.TempDir(), "saved")
	if a := typeCommand("trace", "save", capture); a.code != 0 {
		t.Fatal(a.err)
	}
	for _, test := range []struct {
		args  []string
		wants []string
	}{
		{[]string{id}, []string{"# POST ", "etcd gets a transaction on /registry/configmaps/default/two", "sequenceDiagram", "```diff\n"}},
		{[]string{"verb:create resource:configmaps"}, []string{"# 2 journeys", "/registry/configmaps/default/one", "/registry/configmaps/default/two"}},
		{[]string{id, "--file", capture}, []string{"# POST ", "etcd gets a transaction on /registry/configmaps/default/two"}},
		{[]string{"verb:create resource:configmaps", "--file", capture}, []string{"# 2 journeys"}},
		{[]string{id, "-o", "svg"}, []string{"<svg", ">KV.Txn<"}},
		{[]string{id, "-o", "html"}, []string{"<!DOCTYPE html>", ">its code</a>", "store/etcd3/kv.go", "trace.Start("}},
		{[]string{id, "-o", "html", "--file", capture}, []string{"<!DOCTYPE html>", ">its code</a>", "trace.Start("}},
	} {
		a := typeCommand(append([]string{"trace", "export"}, test.args...)...)
		for _, want := range test.wants {
			if a.code != 0 || !strings.Contains(a.out, want) {
				t.Errorf("%v: %q is missing (exit code %d): %s%s", test.args, want, a.code, a.err, a.out)
			}
		}
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"name:nobody"}, "there is no request"},
		{[]string{"verb:create)"}, "column"},
		{[]string{"verb:create)", "--file", capture}, "column"},
		{[]string{"0000aa-1"}, "no longer has this journey"},
		{[]string{id, "-o", "pdf"}, "use md, html, svg"},
		{[]string{id, "--out", t.TempDir()}, "is no file"},
		{[]string{id, "--out", filepath.Join(t.TempDir(), "none", "file")}, "write the export"},
	} {
		if a := typeCommand(append([]string{"trace", "export"}, test.args...)...); a.code == 0 || !strings.Contains(a.err, test.want) {
			t.Errorf("%v: exit code %d, want %q: %s", test.args, a.code, test.want, a.err)
		}
	}
}

// TestTraceExportBoth says in each form where two requests part, of a server and of a capture, and refuses what can't be compared.
func TestTraceExportBoth(t *testing.T) {
	p := newTyping(t)
	dir := t.TempDir()
	capture := filepath.Join(dir, "saved")
	var ids []string
	for _, dryRun := range []string{"none", "server"} {
		p.remember(typeCommand("create", "configmap", "by-"+dryRun, "--dry-run="+dryRun, "--trace"))
		ids = append(ids, p.values["ID"])
	}
	if a := typeCommand("trace", "save", capture); a.code != 0 {
		t.Fatal(a.err)
	}
	const why = "They part in the box Store. A: not a dry run: passed on. B: dry run: "
	for _, form := range []string{"md", "html", "svg"} {
		for _, from := range [][]string{{}, {"--file", capture}} {
			a := typeCommand(append([]string{"trace", "export", ids[0], "verb:create name:by-server", "-o", form}, from...)...)
			if a.code != 0 || !strings.Contains(a.out, "Two requests, and where they part") || !strings.Contains(a.out, why) {
				t.Errorf("%s %v: exit code %d: %s%.3000s", form, from, a.code, a.err, a.out)
			}
		}
	}
	all, err := readSaved(capture, memoryMost)
	if err != nil {
		t.Fatal(err)
	}
	var both []*v1alpha1.Journey
	for _, id := range ids {
		both = append(both, all.Journeys[slices.IndexFunc(all.Journeys, func(j *v1alpha1.Journey) bool { return j.Name == id })])
	}
	for _, form := range []string{"md", "html", "svg"} {
		var b strings.Builder
		err := exportOnScreen(&b, &screen.Export{Form: form, Both: true, Journeys: both})
		if err != nil || !strings.Contains(b.String(), "Two requests, and where they part") || !strings.Contains(b.String(), why) {
			t.Errorf("the screen's %s: %v: %.3000s", form, err, b.String())
		}
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{ids[0], ids[0]}, "would be compared with itself"},
		{[]string{ids[0], "verb:create resource:configmaps"}, "matches 2 requests: of two that are compared, each has to be one"},
		{[]string{ids[0], "name:nobody"}, "there is no request"},
		{[]string{ids[0], ids[1], "--file", "-"}, "standard input has only once"},
	} {
		if a := typeCommand(append([]string{"trace", "export"}, test.args...)...); a.code == 0 || !strings.Contains(a.err, test.want) {
			t.Errorf("%v: exit code %d, want %q: %s", test.args, a.code, test.want, a.err)
		}
	}
}

// TestTraceExportFile writes a file that only its owner can read, also in place of one that others could.
func TestTraceExportFile(t *testing.T) {
	p := newTyping(t)
	p.remember(typeCommand("create", "configmap", "one", "--trace"))
	dir := t.TempDir()
	file := filepath.Join(dir, "issue.md")
	if err := os.WriteFile(file, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	if a := typeCommand("trace", "export", p.values["ID"], "--out", file); a.code != 0 || a.out != "" {
		t.Fatalf("exit code %d: %s%s", a.code, a.err, a.out)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(text), "# POST ") {
		t.Errorf("%v: %.100s", err, text)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	if left, err := fs.ReadDir(os.DirFS(dir), "."); err != nil || len(left) != 1 {
		t.Errorf("in the directory are %v, %v", left, err)
	}
}

// TestTraceExportAgain reads a page as a capture: what shows a capture shows the page.
func TestTraceExportAgain(t *testing.T) {
	p := newTyping(t)
	p.remember(typeCommand("create", "configmap", "one", "--from-literal=k=<b>", "--trace"))
	id, dir := p.values["ID"], t.TempDir()
	capture, page, again := filepath.Join(dir, "saved"), filepath.Join(dir, "page.html"), filepath.Join(dir, "again.html")
	for _, args := range [][]string{
		{"save", capture}, {"export", id, "-o", "html", "--out", page}, {"export", id, "-o", "html", "--out", again, "--file", page},
	} {
		if a := typeCommand(append([]string{"trace"}, args...)...); a.code != 0 {
			t.Fatalf("%v: %s", args, a.err)
		}
	}
	for _, how := range [][]string{{}, {"-o", "json"}, {"--story"}, {"--source"}} {
		want := typeCommand(append([]string{"trace", "show", id, "--file", capture}, how...)...)
		for _, file := range []string{page, again} {
			if a := typeCommand(append([]string{"trace", "show", id, "--file", file}, how...)...); a.code != 0 || a.out != want.out {
				t.Errorf("%s %v: %s%s\nwant\n%s", file, how, a.err, a.out, want.out)
			}
		}
	}
	shown, err := readSaved(page, memoryMost)
	if err != nil || len(shown.Journeys) != 1 || shown.Journeys[0].Name != id {
		t.Errorf("kx tui -r reads %+v, %v", shown, err)
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.ReplaceAll(string(data), `"line":`, `"line":1`)
	if err := os.WriteFile(page, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	if a := typeCommand("trace", "export", id, "-o", "html", "--file", page); a.code != 0 || !strings.Contains(a.out, "The code is left out: ") {
		t.Errorf("of another kx: %d %s%.3000s", a.code, a.err, a.out)
	}
}
