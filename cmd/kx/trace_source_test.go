package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var ranLine = regexp.MustCompile(`(?m)^.*> +\d+  (.*)$`)

// TestTraceSource shows the code of a request: the server's, and of a capture this kx's own, if it is the same.
func TestTraceSource(t *testing.T) {
	p := newTyping(t)
	p.remember(typeCommand("create", "configmap", "a", "--from-literal=k=v", "--trace"))
	id := p.values["ID"]
	shown := typeCommand("trace", "show", id, "--source")
	ran := ranLine.FindAllStringSubmatch(shown.out, -1)
	if shown.code != 0 || len(ran) < 20 {
		t.Fatalf("%d lines ran, exit code %d: %s%s", len(ran), shown.code, shown.err, shown.out)
	}
	for _, line := range ran {
		if !strings.Contains(line[1], "trace.Start") {
			t.Errorf("a step is said to be taken in %q", line[1])
		}
	}
	if !strings.Contains(shown.out, "store/etcd3/create.go:") || strings.Contains(shown.out, "not found") {
		t.Errorf("%s", shown.out)
	}

	file := filepath.Join(t.TempDir(), "saved")
	if a := typeCommand("trace", "save", file, "id:"+id); a.code != 0 {
		t.Fatal(a.err)
	}
	if saved := typeCommand("trace", "show", id, "--file", file, "--source"); saved.out != shown.out {
		t.Errorf("%s\nof the capture\n%s\nof the server\n%s", saved.err, saved.out, shown.out)
	}
	// One line more in one file.
	capture, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	moved := regexp.MustCompile(`("file":"store/etcd3/create.go","line":\d*)(\d)`).ReplaceAllString(string(capture), "${1}1${2}")
	if moved == string(capture) {
		t.Fatal("the capture has no step in store/etcd3/create.go")
	}
	if err := os.WriteFile(file, []byte(moved), 0o600); err != nil {
		t.Fatal(err)
	}
	if other := typeCommand("trace", "show", id, "--file", file, "--source"); other.code == 0 || !strings.Contains(other.err, "other source than this one") {
		t.Errorf("%d %s%s", other.code, other.err, other.out)
	}
	if a := typeCommand("trace", "show", id, "--source", "-o", "json"); a.code == 0 || !strings.Contains(a.err, "leave -o out") {
		t.Errorf("%d %s", a.code, a.err)
	}
}
