package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestVerdicts runs commands that get over a fault, that do so at a price, that do not, and that do not meet it.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	const (
		conflict = "conflict --times 1 verb:patch resource:configmaps"
		made     = `"$SELF" create configmap a >/dev/null`
		patch    = `"$SELF" annotate configmap a at=now >/dev/null 2>&1`
		// A write that is refused because another one came first, with faults and without.
		late = `old=$("$SELF" get configmap a -o json); ` + patch + `; printf %s "$old" | "$SELF" replace -f - >/dev/null 2>&1`
	)
	for _, test := range []struct {
		name, fault, script string
		code                int
		verdict, why        string
	}{
		{"resilient", conflict, made + "; " + patch + " || " + patch, 0,
			"resilient", "the command passes; writes: 2, and 2 without faults; conflicts: 0, and 0 without"},
		{"degraded", conflict, made + "; " + patch + ` || { "$SELF" create configmap again >/dev/null; ` + patch + "; }", 0,
			"degraded", "the command passes; writes: 3, and 2 without faults; conflicts: 0, and 0 without"},
		{"own conflict", "conflict --times 1 verb:create resource:configmaps", made + " 2>&1 || " + made + "; " + late + "; true", 0,
			"resilient", "the command passes; writes: 2, and 2 without faults; conflicts: 1, and 1 without"},
		{"failed", conflict, made + "; " + patch + " || exit 7", 7,
			"failed", "the command fails with the faults, with exit code 7, and passes without"},
		{"no hit", conflict, made, 1, "inconclusive", "a fault hit nothing: conflict-"},
		{"fails anyway", conflict, made + "; " + patch + "; " + patch + "; exit 3", 3,
			"inconclusive", "the command fails without faults too, with exit code 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			report := filepath.Join(t.TempDir(), "report.xml")
			cmd := kx(t, "test", "--fault", test.fault, "--junit", report, "--", "sh", "-c", test.script)
			cmd.Env = append(cmd.Env, artifactsVariable+"="+t.TempDir(), "SELF="+os.Args[0])
			var errOut bytes.Buffer
			cmd.Stderr = &errOut
			_ = cmd.Run()
			lines := strings.Split(strings.TrimSpace(errOut.String()), "\n")
			if code := cmd.ProcessState.ExitCode(); code != test.code || !strings.HasPrefix(lines[len(lines)-1], "kx: "+test.verdict+": "+test.why) {
				t.Fatalf("exit %d, %q", code, &errOut)
			}
			var read struct {
				Suite struct {
					Failures int `xml:"failures,attr"`
					Errors   int `xml:"errors,attr"`
					Case     struct {
						Name string `xml:"name,attr"`
						Out  string `xml:"system-out"`
					} `xml:"testcase"`
				} `xml:"testsuite"`
			}
			data, err := os.ReadFile(report)
			if err == nil {
				err = xml.Unmarshal(data, &read)
			}
			failures := map[string]int{"failed": 1}[test.verdict]
			errs := map[string]int{"inconclusive": 1}[test.verdict]
			if s := &read.Suite; err != nil || s.Failures != failures || s.Errors != errs || !strings.HasSuffix(s.Case.Name, " with "+test.fault) ||
				!strings.HasPrefix(s.Case.Out, test.verdict+": "+test.why) {
				t.Errorf("%s: %v", data, err)
			}
		})
	}
}

// TestVerdictOfConflicts: conflicts that follow from a fault count, and not those that it makes. A command that made too
// many requests to remember can't be compared.
func TestVerdictOfConflicts(t *testing.T) {
	for verdict, test := range map[string]struct{ with, without observation }{
		"resilient":    {observation{writes: 3, conflicts: 1}, observation{writes: 3, conflicts: 2}},
		"degraded":     {observation{writes: 3, conflicts: 2}, observation{writes: 4, conflicts: 1}},
		"inconclusive": {observation{writes: 3}, observation{writes: 3, forgot: true}},
		"failed":       {observation{code: 1, forgot: true}, observation{}},
	} {
		if got := judge(&test.with, &test.without); got.Verdict != verdict {
			t.Errorf("got %+v, want %s", got, verdict)
		}
	}
}

// TestRefusedFaultTests: a fault that can't be made ends kx test before the command begins.
func TestRefusedFaultTests(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`--fault "conflit verb:update": it does not begin with a word that kx help fault add lists`: {"--fault", "conflit verb:update"},
		`there is no verb "updat"`:             {"--fault", "conflict verb:updat"},
		"accepts 1 arg(s), received 0":         {"--fault", "conflict --times 3"},
		"accepts 2 arg(s), received 1":         {"--fault", "delay 2s"},
		"unknown flag: --tims":                 {"--fault", "conflict --tims 3 verb:update"},
		"--junit has the verdict about faults": {"--junit", "report.xml"},
	} {
		out, _ := kx(t, append(append([]string{"test"}, args...), "--", "echo", "it has begun")...).CombinedOutput()
		if !strings.Contains(string(out), want) || strings.Contains(string(out), "it has begun") {
			t.Errorf("%q says %q, want %q", args, out, want)
		}
	}
}

// TestInterruptedFaultTest: an interrupt ends kx test with its command, and that is not run again.
func TestInterruptedFaultTest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		code   int
	}{
		"terminated":  {"echo ready; while :; do sleep 0.05; done", 128 + 15},
		"its own end": {"trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := kx(t, "test", "--fault", "conflict verb:update", "--", "sh", "-c", test.script)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			var errOut bytes.Buffer
			cmd.Stderr = &errOut
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(out)
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != test.code || len(rest) > 0 || err != nil ||
				!strings.Contains(errOut.String(), "kx: test: interrupted before the verdict\n") {
				t.Errorf("exit %d, %q, %q, %v", code, rest, &errOut, err)
			}
		})
	}
}
