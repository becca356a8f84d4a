package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

// TestWithoutEtcd reads on a terminal from a server whose etcd has no majority: it is said what is waited for, and the
// read is given up.
func TestWithoutEtcd(t *testing.T) {
	t.Parallel()
	cluster := embedtest.StartCluster(t)
	p := serve(t, "--data-dir", t.TempDir(), "--etcd-servers="+strings.Join(cluster.Endpoints(), ","))
	leader := cluster.Leader()
	cluster.Stop(leader)
	cluster.Stop((leader + 1) % len(cluster.Endpoints()))
	master, cmd := onTerminal(t, "get", "configmaps", "--kubeconfig", p.kubeconfig)
	said, _ := io.ReadAll(master) // a terminal that is left ends with an error
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("it ended with %v", err)
	}
	for _, want := range []string{
		`kx: no answer for \ds \(GET /api/v1/namespaces/default/configmaps\)`,
		`kx: no answer for \d+s: its etcd does not answer the server \(GET `,
		`\r\x1b\[Kkx: gave up after \d+s: the server runs, but its etcd does not answer it: see to that etcd \(kx etcd status`,
	} {
		if !regexp.MustCompile(want).Match(said) {
			t.Errorf("%s is not in %q", want, said)
		}
	}
}

// TestRepeated reads on a terminal an object at a revision that does not exist yet, which the server asks to repeat: that is said.
func TestRepeated(t *testing.T) {
	t.Parallel()
	p := serve(t, "--data-dir", t.TempDir())
	master, cmd := onTerminal(t, "get", "--raw", "/api/v1/namespaces/default?resourceVersion=100000000", "--kubeconfig", p.kubeconfig)
	const want = "kx: the server asks to repeat GET /api/v1/namespaces/default after 1s (up to ten times): Timeout: Too large resource version: 100000000, current: "
	said := ""
	for lines := bufio.NewReader(master); !strings.Contains(said, want); {
		line, err := lines.ReadString('\n')
		if said += line; err != nil {
			t.Fatalf("%v, after %q", err, said)
		}
	}
	if err := cmd.Process.Kill(); err != nil { // it would go on for half a minute
		t.Fatal(err)
	}
	_ = cmd.Wait() // says that it was killed
}

// onTerminal starts kx on a terminal, and returns where what it writes can be read.
func onTerminal(t *testing.T, args ...string) (*os.File, *exec.Cmd) {
	t.Helper()
	master, slave := terminal(t)
	cmd := kx(t, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	return master, cmd
}
