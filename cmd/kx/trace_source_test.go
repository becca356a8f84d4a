package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var ranLine = regexp.MustCompile(`(?m)^.*> +\d+  (.*)$`)

// TestTraceSource shows the code of a request at the lines that decided: the server's, and of a capture this kx's own, if
// it is the same.
func TestTraceSource(t *testing.T) {
	p := newTyping(t)
	p.remember(typeCommand("create", "configmap", "a", "--from-literal=k=v", "--trace"))
	id := p.values["ID"]
	shown := typeCommand("trace", "show", id, "--source")
	ran := ranLine.FindAllStringSubmatch(shown.out, -1)
	if shown.code != 0 || len(ran) < 20 {
		t.Fatalf("%d lines ran, exit code %d: %s%s", len(ran), shown.code, shown.err, shown.out)
	}
	reasons := map[string]bool{}
	for _, m := range regexp.MustCompile(`"kind": *"([a-z0-9-]+)"`).FindAllStringSubmatch(typeCommand("trace", "show", id, "-o", "json").out, -1) {
		reasons[strings.ReplaceAll(m[1], "-", "")] = true
	}
	if !reasons["keyfreeothersame"] {
		t.Errorf("the reasons are %v", reasons)
	}
	for _, line := range ran {
		if strings.Contains(line[1], "trace.Start") {
			continue
		}
		decided := false
		for reason := range reasons {
			decided = decided || strings.Contains(strings.ToLower(line[1]), reason)
		}
		if !decided {
			t.Errorf("%q begins no step and gives no reason of the request", line[1])
		}
	}
	if !regexp.MustCompile(`(?im)^.*> +\d+ .*keyfreeothersame`).MatchString(shown.out) {
		t.Errorf("the create does not stand on the line that found its key free:\n%s", shown.out)
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
