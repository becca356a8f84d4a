package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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

	if code, _, errOut = inTest(t, pages, `kill -9 $$`); code != 128+9 || !strings.HasPrefix(errOut, "kx: the command failed") {
		t.Errorf("a command that was killed: exit %d, %q", code, errOut)
	}
	page = filepath.Join(pages, "file")
	if err := os.WriteFile(page, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errOut = inTest(t, page, `"$SELF" create configmap of-the-test >/dev/null; exit 7`)
	if code != 7 || !strings.HasPrefix(errOut, "kx: the requests are not kept: mkdir ") || strings.Count(errOut, "\n") != 1 {
		t.Errorf("a page that can't be written: exit %d, %q", code, errOut)
	}
}

// TestNotStarted: a command that can't be started has the exit codes of a shell, and one sentence says why.
func TestNotStarted(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	for name, mode := range map[string]os.FileMode{"text": 0o600, "program": 0o700} {
		if err := os.WriteFile(filepath.Join(files, name), []byte("\x01\x02"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		command string
		code    int
	}{
		{"no-such-command-of-kx", 127}, {"", 127}, {filepath.Join(files, "nothing"), 127}, {filepath.Join(files, "text"), 126},
		{filepath.Join(files, "program"), 126}, {files, 126},
	} {
		cmd := kx(t, "test", "--", test.command)
		said, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != test.code || !strings.HasPrefix(string(said), "kx: test: the command can't be started: ") ||
			!strings.Contains(string(said), test.command) || strings.Count(string(said), "\n") != 1 {
			t.Errorf("%q: %v, want exit %d: %q", test.command, err, test.code, said)
		}
	}
}

// TestSignalUnderTest sends a signal to kx test alone. The command and what it started get it, none of them stays, and
// the exit code is the command's.
func TestSignalUnderTest(t *testing.T) {
	t.Parallel()
	const forever = "while :; do sleep 0.05; done"
	for _, test := range []struct {
		name, script string
		signal       os.Signal
		code         int
		out          string
	}{
		{"terminated", "echo ready; " + forever, syscall.SIGTERM, 128 + 15, ""},
		{"interrupted", "echo ready; " + forever, os.Interrupt, 128 + 2, ""},
		{"its own end", "trap 'echo caught; exit 5' TERM; echo ready; " + forever, syscall.SIGTERM, 5, "caught\n"},
		{"what it started", "(trap 'echo caught; exit' TERM; echo ready; " + forever + "); exit 9", syscall.SIGTERM, 128 + 15, "caught\n"},
		{"what it left behind", "sh -c 'echo ready; " + forever + "' & wait", syscall.SIGTERM, 128 + 15, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cmd := kx(t, "test", "--", "sh", "-c", test.script)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ready := make([]byte, len("ready\n"))
			if _, err := io.ReadFull(out, ready); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(test.signal); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(out) // ends with the last process that could write
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != test.code || string(rest) != test.out || err != nil {
				t.Errorf("%v, exit %d, want %d; it said %q, %v", cmd.ProcessState, code, test.code, rest, err)
			}
		})
	}
}

// TestInterruptedEarly interrupts kx test while its server starts: the command does not run on.
func TestInterruptedEarly(t *testing.T) {
	t.Parallel()
	temporary := t.TempDir()
	cmd := kx(t, "test", "--", "sleep", "1000")
	cmd.Env = append(cmd.Env, "TMPDIR="+temporary)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the server has a directory", func() bool {
		made, _ := os.ReadDir(temporary)
		return len(made) > 0
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 128+2 {
		t.Error(cmd.ProcessState)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
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
