package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/store/embedded"
)

// ended runs kx and wants it to end with a code. It returns what it said.
func ended(t *testing.T, code int, args ...string) string {
	t.Helper()
	out, err := kx(t, args...).CombinedOutput()
	var exit *exec.ExitError
	if code == 0 && err != nil || code != 0 && (!errors.As(err, &exit) || exit.ExitCode() != code) {
		t.Fatalf("kx %s ended with %v, want %d: %s", strings.Join(args, " "), err, code, out)
	}
	return string(out)
}

// stopped ends a server in good order.
func (p *process) stopped(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		t.Fatalf("%v: %s", err, p.stderr)
	}
}

// advised is the command at the end of what a start says of damage.
var advised = regexp.MustCompile(`kx (etcd salvage (\S+) --to (\S+))\n$`)

// TestDamagedLog cuts off the log of a kx. The start says so in one line with a command, and that command makes a
// directory that serves what was stored.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := serve(t, "--data-dir", dir)
	for i := range 20 {
		if _, err := first.client(t).CoreV1().ConfigMaps("default").Create(t.Context(), configMap(fmt.Sprint("c", i)), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := first.client(t).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first.stopped(t)
	logs, err := filepath.Glob(filepath.Join(dir, "etcd", "member", "wal", "*.wal"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%v, %v", logs, err)
	}
	if err := os.Truncate(logs[0], 5000); err != nil {
		t.Fatal(err)
	}

	text := ended(t, 1, "serve", "--listen=127.0.0.1:0", "--data-dir", dir)
	command := advised.FindStringSubmatch(text)
	if command == nil || strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "kx: embedded etcd: "+logs[0]+" is damaged: it ends at byte ") {
		t.Fatalf("the start says %q", text)
	}
	if text := ended(t, exitFound, "etcd", "doctor", "--file", dir); !strings.Contains(text, "problem  log: "+logs[0]+" is damaged: it ends at byte ") || !strings.Contains(text, "ok       database: ") {
		t.Errorf("the doctor says %q", text)
	}
	if text := ended(t, exitFound, strings.Fields(command[1])...); !strings.Contains(text, "not read: entries of the log after ") {
		t.Errorf("salvage says %q", text)
	}
	if err := errors.Join(os.Rename(command[2], command[2]+"-damaged"), os.Rename(command[3], command[2])); err != nil {
		t.Fatal(err)
	}
	if text := ended(t, 0, "etcd", "doctor", "--file", dir); !strings.Contains(text, "ok       log: ") {
		t.Errorf("the doctor says %q", text)
	}
	second := serve(t, "--data-dir", dir)
	again, err := second.client(t).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(again.Items) != len(list.Items) {
		t.Fatalf("%d config maps, %v, want %d", len(again.Items), err, len(list.Items))
	}
	if len(again.ResourceVersion) <= len(list.ResourceVersion) {
		t.Errorf("resource version %s after %s", again.ResourceVersion, list.ResourceVersion)
	}
	second.stopped(t)
}

// TestInterruptWhileWaitingForLeader starts a kx whose etcd never leads, since it has a second member that nobody runs.
func TestInterruptWhileWaitingForLeader(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "kx") // a short path, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	first := serve(t, "--data-dir", dir)
	socket := filepath.Join(dir, embedded.SocketName)
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + socket}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.MemberAdd(t.Context(), []string{"http://localhost:1"}); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	_ = first.Process.Kill()
	_ = first.wait()
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	second := kx(t, "serve", "--listen=127.0.0.1:0", "--data-dir", dir)
	stderr := &buffer{}
	second.Stderr = stderr
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "etcd listens", func() bool {
		_, err := os.Stat(socket)
		return err == nil
	})
	if err := second.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := second.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(stderr.String(), "interrupted by terminated") {
		t.Errorf("it ended with %v: %s", err, stderr)
	}
}
