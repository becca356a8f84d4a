//go:build unix

package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/server/identity"
)

// started is what a command says that had to start a server.
const started = "no server runs: started one"

// machine is one user's: all commands have the same home.
type machine struct {
	t    *testing.T
	home string
}

func newMachine(t *testing.T) *machine { return &machine{t: t, home: t.TempDir()} }

func (m *machine) command(args ...string) *exec.Cmd {
	cmd := kx(m.t, args...)
	cmd.Env = append(cmd.Env, "HOME="+m.home, "KUBECONFIG=", "LANG=C")
	return cmd
}

// run runs a command to its end.
func (m *machine) run(stdin string, args ...string) answer {
	m.t.Helper()
	return settled(func() answer {
		var out, errOut strings.Builder
		cmd := m.command(args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errOut
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			m.t.Fatal(err)
		}
		return answer{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}
	})
}

// free says whether nobody has the data directory, and whether what was left behind is in order.
func (m *machine) free() {
	m.t.Helper()
	dir, err := identity.OpenDataDir(filepath.Join(m.home, ".kx"))
	if err != nil {
		m.t.Error(err)
		return
	}
	if err := dir.Close(); err != nil {
		m.t.Error(err)
	}
}

// lasting is a command that goes on until it is interrupted.
type lasting struct {
	*exec.Cmd
	m      *machine
	lines  *bufio.Scanner
	stderr *buffer
}

// begin starts a command as a terminal does: in a process group of its own.
func (m *machine) begin(args ...string) *lasting {
	m.t.Helper()
	l := &lasting{Cmd: m.command(args...), m: m, stderr: &buffer{}}
	l.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	l.Stderr = l.stderr
	out, err := l.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	l.lines = bufio.NewScanner(out)
	if err := l.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = syscall.Kill(-l.Process.Pid, syscall.SIGKILL) })
	return l
}

// see reads lines until one has text.
func (l *lasting) see(text string) {
	l.m.t.Helper()
	for l.lines.Scan() {
		if strings.Contains(l.lines.Text(), text) {
			return
		}
	}
	l.m.t.Fatalf("%v ended without saying %q: %s", l.Args, text, l.stderr)
}

// waitToSay waits until the command has said text on stderr.
func (l *lasting) waitToSay(text string) {
	l.m.t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(l.stderr.String(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			l.m.t.Fatalf("%v does not say %q: %s", l.Args, text, l.stderr)
		}
	}
}

// interrupt does what ^C does.
func (l *lasting) interrupt() {
	l.m.t.Helper()
	if err := syscall.Kill(-l.Process.Pid, syscall.SIGINT); err != nil {
		l.m.t.Fatal(err)
	}
}

// ended waits for the end and returns the exit code.
func (l *lasting) ended() int {
	_ = l.Wait()
	return l.ProcessState.ExitCode()
}

// TestFreshMachine types what one would first, where nothing runs and nothing is.
func TestFreshMachine(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	const (
		two = "{apiVersion: stable.example.com/v1, kind: CronTab, metadata: {name: mine}, spec: {replicas: 2}}"
		key = "/registry/stable.example.com/crontabs/default/mine"
	)
	for _, step := range []struct {
		args, stdin, out, err string
		code                  int
	}{
		{args: "create -f testdata/crontabs.yaml", out: "crontabs.stable.example.com created"},
		{args: "create -f testdata/crontab.yaml", out: "crontab.stable.example.com/mine created"},
		{args: "get ct -o name", out: "crontab.stable.example.com/mine"},
		// Where kubectl's code ends the process, the server stops in order all the same.
		{args: "get nonsense", err: "the server doesn't have a resource type", code: 1},
		{args: "auth can-i get configmaps", out: "yes"},
		{args: "diff -f -", stdin: two, out: "-  replicas: 1\n+  replicas: 2", code: 1}, // what is there has the default
		{args: "get ct mine --trace=brief", out: "mine", err: "/crontabs/mine  200"},
		{args: "__complete get ct mi", out: "mine"},
	} {
		a := m.run(step.stdin, strings.Fields(step.args)...)
		if !strings.Contains(a.out, step.out) || !strings.Contains(a.err, step.err) || a.code != step.code {
			t.Errorf("kx %s: exit code %d\n%s%s", step.args, a.code, a.out, a.err)
			t.Logf("what etcd has: %+v %+v", m.run("", "etcd", "ls", "--depth", "5"), m.run("", "etcd", "history", key))
		}
		if n := strings.Count(a.err, started); n != 1 {
			t.Errorf("kx %s: said %d times that it started a server: %s", step.args, n, a.err)
		}
		m.free()
	}
	// What needs no server starts none.
	for _, args := range []string{"config view", "get --help", "version"} {
		if a := m.run("", strings.Fields(args)...); a.code != 0 || strings.Contains(a.err, started) {
			t.Errorf("kx %s: exit code %d\n%s%s", args, a.code, a.out, a.err)
		}
	}
}

// TestShare has commands share the server of the first, which stays until the last has gone.
func TestShare(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	first := m.begin("get", "namespaces", "-w")
	first.see("kube-system")
	if a := m.run("", "create", "configmap", "shared"); a.code != 0 || a.err != "" {
		t.Fatalf("a second command: %+v", a)
	}
	second := m.begin("get", "configmaps", "-w")
	second.see("shared")
	first.interrupt()
	// The first command is over; its server serves the second, and whoever comes.
	first.waitToSay("other commands still use the server of this one: waiting for kx get (process " + strconv.Itoa(second.Process.Pid) + ")")
	if a := m.run("", "create", "configmap", "late"); a.code != 0 || a.err != "" {
		t.Fatalf("a command after the first was interrupted: %+v", a)
	}
	second.see("late")
	second.interrupt()
	if code := second.ended(); code == 0 {
		t.Error("an interrupted watch ended well")
	}
	if code := first.ended(); code == 0 {
		t.Error("an interrupted watch ended well")
	}
	m.free()
	if a := m.run("", "get", "configmaps", "-o", "name"); !strings.Contains(a.out, "late") || !strings.Contains(a.err, started) {
		t.Errorf("what was written is not there: %+v", a)
	}
}

// TestOwnerSignaled sends a signal to the first command alone, as scripts do. It passes it on to its other process.
func TestOwnerSignaled(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		m := newMachine(t)
		l := m.begin("get", "namespaces", "-w")
		l.see("kube-system")
		if err := l.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		// The signal ends the command, or kubectl's code does once its watch has begun, with 1.
		if code := l.ended(); code != 128+int(sig) && code != 1 {
			t.Errorf("%s: exit code %d: %s", sig, code, l.stderr)
		}
		m.free()
	}
}

// TestAtOnce starts many commands where nothing runs: one of them has the server, and all are answered.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	const many = 4
	answers := make(chan answer, many)
	for i := range many {
		go func() { answers <- m.run("", "create", "configmap", "c"+string(rune('0'+i))) }()
	}
	for range many {
		if a := <-answers; a.code != 0 {
			t.Errorf("%+v", a)
		}
	}
	m.free()
	if a := m.run("", "get", "configmaps", "-o", "name"); strings.Count(a.out, "configmap/c") != many {
		t.Errorf("%+v", a)
	}
}

// TestJoinServe uses a kx serve that runs on the data directory, and stays out of the way of its end.
func TestJoinServe(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	cmd := m.command("serve", "--listen=127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !readyLine.MatchString(strings.TrimSpace(line)) {
		t.Fatal(line, err)
	}
	if a := m.run("", "get", "ns", "-o", "name"); a.code != 0 || a.err != "" {
		t.Errorf("%+v", a)
	}
	// A kubeconfig of its own and one that is the directory's mean the same server.
	for _, kubeconfig := range []string{filepath.Join(m.home, ".kx", "kubeconfig"), filepath.Join(m.home, ".kx", ".", "kubeconfig")} {
		if a := m.run("", "get", "ns", "-o", "name", "--kubeconfig", kubeconfig); a.code != 0 || a.err != "" {
			t.Errorf("%+v", a)
		}
	}
	if a := m.run("", "get", "ns", "--kubeconfig", "/does/not/exist"); a.code != 1 || !strings.Contains(a.err, "/does/not/exist") {
		t.Errorf("%+v", a)
	}
	follow(t, m)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if a := m.run("", "trace", "show", "000000-1"); a.code != 1 || !strings.Contains(a.err, "start one with kx serve") {
		t.Errorf("kx trace where nothing runs: %+v", a)
	}
}

// follow follows requests as they happen.
func follow(t *testing.T, m *machine) {
	t.Helper()
	for _, test := range []struct{ args, want string }{
		{"trace --verb create --resource configmaps --code 201 --user kx-admin,nobody --min 1ns --namespace default", `^\d\d:\d\d:\d\d\.\d{6}  POST /api/v1/namespaces/default/configmaps\?\S+  201  \S+  kx-admin  [0-9a-f]{6}-\d+$`},
		{"trace -o json resource:configmaps", `^\{"kind":"Journey",.*"metadata":\{"name":"[0-9a-f]{6}-\d+".*"verb":"create".*\}$`},
	} {
		l := m.begin(strings.Fields(test.args)...)
		l.waitToSay("following the requests")
		if a := m.run("", "create", "configmap", "followed"); a.code != 0 {
			t.Fatalf("%+v", a)
		}
		if !l.lines.Scan() || !regexp.MustCompile(test.want).MatchString(l.lines.Text()) {
			t.Errorf("kx %s: %s %s", test.args, l.lines.Text(), l.stderr)
		}
		l.interrupt()
		if code := l.ended(); code != 0 {
			t.Errorf("kx %s, interrupted: exit code %d %s", test.args, code, l.stderr)
		}
		if a := m.run("", "delete", "configmap", "followed"); a.code != 0 {
			t.Fatalf("%+v", a)
		}
	}
}
