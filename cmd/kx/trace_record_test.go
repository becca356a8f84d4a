package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestTraceRecord has a server without flags record the objects of what kubectl's verbs do, says so, and ends it.
func TestTraceRecord(t *testing.T) {
	t.Parallel()
	server := serve(t, "--ephemeral")
	const nothing = "no objects are recorded but for requests that ask for it: kx trace record switches that on\n"
	record := func(code int, args ...string) string {
		t.Helper()
		cmd := kx(t, append([]string{"trace", "record", "--kubeconfig", server.kubeconfig}, args...)...)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("kx trace record %q exits with %d, want %d: %s", args, got, code, out)
		}
		return string(out)
	}
	must := func(got, want string) {
		t.Helper()
		if !regexp.MustCompile("^(?:" + want + ")$").MatchString(got) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	apply := func(name string) (shown string) {
		t.Helper()
		for _, args := range [][]string{{"create", "configmap", name}, {"trace", "ls", "verb:create name:" + name}} {
			out, err := kx(t, append(args, "--kubeconfig", server.kubeconfig)...).CombinedOutput()
			if err != nil {
				t.Fatalf("kx %q: %s", args, out)
			}
			shown = string(out)
		}
		words := strings.Fields(shown)
		out, err := kx(t, "trace", "blame", words[len(words)-1], "metadata.name", "--kubeconfig", server.kubeconfig).CombinedOutput()
		if err != nil && !strings.Contains(string(out), "has no objects") {
			t.Fatalf("%s", out)
		}
		return string(out)
	}
	const clock = `\d\d:\d\d:\d\d`
	must(record(0, "--status"), nothing)
	if said := apply("before"); !strings.Contains(said, "by kx trace record") {
		t.Errorf("blame does not say how objects get recorded: %s", said)
	}
	must(record(0, "--breakpoints", "--for", "2m", "resource:configmaps"), "objects of resource:configmaps are recorded, and breakpoints are allowed, until "+clock+"\n")
	if said := apply("meanwhile"); !strings.Contains(said, "meanwhile") || strings.Contains(said, "has no objects") {
		t.Errorf("objects are not recorded: %s", said)
	}
	must(record(0, "--status"), "objects of resource:configmaps are recorded, and breakpoints are allowed, until "+clock+`: 1 so far, the last is \S+`+"\n")
	must(record(0), "objects of every request are recorded until "+clock+"\n")
	must(record(0, "--off"), nothing)
	must(record(1, "code:409"), `(?s).*code is known only later: a recording can ask for verb.*`)
	must(record(1, "--for", "0s"), `(?s).*a day at most.*`)
	must(record(1, "--off", "verb:get"), `(?s).*leave the filter out.*`)
	must(record(1, "--off", "--for", "1m"), `(?s).*exclude each other.*`)
}

// TestServeAtATerminal: at a terminal and on this machine alone, breakpoints are on, and elsewhere off. The second line says so.
func TestServeAtATerminal(t *testing.T) {
	t.Parallel()
	for _, at := range []struct {
		flags []string
		want  string
	}{
		{nil, "breakpoints on, faults on, for administrators"},
		{[]string{"--allow-breakpoints=never"}, "breakpoints never, faults on"},
		{[]string{"--listen=0.0.0.0:0"}, "breakpoints off, faults off: kx trace record"},
	} {
		mux(t, kx(t, append([]string{"serve", "--ephemeral", "--listen=127.0.0.1:0", "--data-dir", t.TempDir()}, at.flags...)...)).see("kx: serving", at.want)
	}
}
