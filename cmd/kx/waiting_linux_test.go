package main

import (
	"io"
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
	master, slave := terminal(t)
	cmd := kx(t, "get", "configmaps", "--kubeconfig", p.kubeconfig)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
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
