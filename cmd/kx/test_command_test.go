package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inTest runs a shell command below kx test, in an environment where kx is this program.
func inTest(t *testing.T, artifacts, script string) (code int, out, errOut string) {
	t.Helper()
	cmd := kx(t, "test", "--", "sh", "-c", script)
	cmd.Env = append(cmd.Env, artifactsVariable+"="+artifacts, "SELF="+os.Args[0])
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

func TestCommandUnderTest(t *testing.T) {
	t.Parallel()
	pages := t.TempDir()
	code, out, errOut := inTest(t, pages, `"$SELF" create configmap of-the-test && "$SELF" get configmap of-the-test -o name; echo "$KUBECONFIG"`)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || errOut != "" || len(lines) != 3 || lines[1] != "configmap/of-the-test" {
		t.Errorf("exit %d, %q, %q", code, out, errOut)
	}
	if _, err := os.Stat(lines[len(lines)-1]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the server left its kubeconfig: %v", err)
	}
	if kept, _ := filepath.Glob(filepath.Join(pages, "*")); len(kept) > 0 {
		t.Errorf("a command that succeeded left %v", kept)
	}

	code, _, errOut = inTest(t, pages, `"$SELF" create configmap of-the-test >/dev/null; exit 7`)
	before, page, named := strings.Cut(strings.TrimSpace(errOut), "kx tui -r: ")
	if code != 7 || !named || strings.Contains(before, "\n") || filepath.Dir(page) != pages {
		t.Fatalf("exit %d, %q", code, errOut)
	}
	shown, err := kx(t, "trace", "export", "--file", page, "verb:create name:of-the-test").CombinedOutput()
	if err != nil || !strings.Contains(string(shown), "configmaps") {
		t.Errorf("the page has %q, %v", shown, err)
	}

	if code, _, errOut = inTest(t, pages, `kill -9 $$`); code != 1 || !strings.HasPrefix(errOut, "kx: the command failed") {
		t.Errorf("a command that was killed: exit %d, %q", code, errOut)
	}
	missing, err := kx(t, "test", "no-such-command-of-kx").CombinedOutput()
	if err == nil || !strings.HasPrefix(string(missing), "kx: test: ") || !strings.Contains(string(missing), "no-such-command-of-kx") {
		t.Errorf("a command that is missing: %v, %q", err, missing)
	}
}

// TestUntilStdinEnds: the server stops when the pipe ends, whatever the reason, and leaves nothing.
func TestUntilStdinEnds(t *testing.T) {
	t.Parallel()
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	p := kx(t, "serve", "--listen=127.0.0.1:0", "--ephemeral", "--until-stdin-ends")
	p.Stdin = in
	said, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	ready := make([]byte, len("kx: serving"))
	if _, err := io.ReadFull(said, ready); err != nil {
		t.Fatal(err)
	}
	hold.Close()
	_, err = io.Copy(io.Discard, said)
	if err = errors.Join(err, p.Wait()); err != nil {
		t.Fatal(err)
	}
}
