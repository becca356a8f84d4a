package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// memberProcess is a kx etcd serve.
type memberProcess struct {
	*exec.Cmd
	stderr *buffer
	// ready receives the first line, or nothing if the process ends without one.
	ready chan string
}

func etcdServe(t *testing.T, dir string, port, member int) *memberProcess {
	t.Helper()
	p := &memberProcess{
		Cmd:    kx(t, "etcd", "serve", strconv.Itoa(member), "--data-dir", dir, "--port", strconv.Itoa(port), "--unsafe-no-fsync"),
		stderr: &buffer{}, ready: make(chan string, 1),
	}
	p.Stderr = p.stderr
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	go func() {
		defer close(p.ready)
		if lines := bufio.NewScanner(stdout); lines.Scan() {
			p.ready <- lines.Text()
		}
	}()
	return p
}

func (p *memberProcess) wantReady(t *testing.T, want string) {
	t.Helper()
	if line := <-p.ready; line != want {
		t.Fatalf("said %q, want %q; %s", line, want, p.stderr)
	}
}

// interrupt wants the process to end in good order.
func interrupt(t *testing.T, p *exec.Cmd, wait func() error) {
	t.Helper()
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := wait(); err != nil {
		t.Errorf("%v ended with %v", p.Args[1:], err)
	}
}

// portsMin and portsMax bound the ports that tests name: below those that systems give to listeners on port 0, and above
// those of the guide's blocks.
const portsMin, portsMax = 24000, 30000

// nextPort is the port after those that tests were given: one that listens only later must not meet another.
var nextPort = struct {
	sync.Mutex
	port int
}{port: portsMin + rand.IntN(portsMax-portsMin)}

// portsInARow returns the first of n ports that are free, and that no other test was given.
func portsInARow(t *testing.T, n int) int {
	t.Helper()
	nextPort.Lock()
	defer nextPort.Unlock()
next:
	for {
		if nextPort.port+n > portsMax {
			nextPort.port = portsMin
		}
		first := nextPort.port
		nextPort.port += n
		for port := first; port < first+n; port++ {
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			if err != nil {
				continue next
			}
			_ = l.Close()
		}
		return first
	}
}

// TestEtcdServe has two servers in front of three etcds, all of them processes. A server, a member and another member stop
// one after the other, and the first member is back before the second is gone.
func TestEtcdServe(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), portsInARow(t, 6)
	url := func(member int) string { return fmt.Sprintf("http://127.0.0.1:%d", port+2*(member-1)) }
	line := func(member int) string {
		return fmt.Sprintf("kx: etcd member %d of 3 serving %s  data: %s", member, url(member), filepath.Join(dir, "member"+strconv.Itoa(member)))
	}
	members := map[int]*memberProcess{}
	for member := 1; member <= 3; member++ {
		members[member] = etcdServe(t, dir, port, member)
	}
	for member, p := range members {
		p.wantReady(t, line(member))
	}
	again, err := kx(t, "etcd", "serve", "1", "--data-dir", dir, "--port", strconv.Itoa(port)).CombinedOutput()
	if err == nil || !strings.Contains(string(again), "in use by another process") {
		t.Errorf("the same member again: %s, %v", again, err)
	}
	again, err = kx(t, "etcd", "serve", "1", "--data-dir", t.TempDir(), "--port", strconv.Itoa(port)).CombinedOutput()
	if err == nil || !strings.Contains(string(again), "give all members another --port") {
		t.Errorf("another cluster on the same ports: %s, %v", again, err)
	}
	servers := "--etcd-servers=" + strings.Join([]string{url(1), url(2), url(3)}, ",")
	a := serve(t, "--data-dir", t.TempDir(), servers)
	b := serve(t, "--data-dir", t.TempDir(), servers)
	create(t, a.client(t), "all-there")
	interrupt(t, a.Cmd, a.wait)
	create(t, b.client(t), "one-server")
	interrupt(t, members[1].Cmd, members[1].Wait)
	create(t, b.client(t), "two-members")
	back := etcdServe(t, dir, port, 1)
	back.wantReady(t, line(1))
	interrupt(t, members[2].Cmd, members[2].Wait) // from here on, nothing is done without the one that is back
	create(t, b.client(t), "two-others")
	list, err := b.client(t).CoreV1().ConfigMaps("default").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, cm := range list.Items {
		names = append(names, cm.Name)
	}
	if got := strings.Join(names, " "); got != "all-there one-server two-members two-others" {
		t.Errorf("there are %s", got)
	}
}

func create(t *testing.T, c *kubernetes.Clientset, name string) {
	t.Helper()
	if _, err := c.CoreV1().ConfigMaps("default").Create(context.Background(), configMap(name), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestEtcdServeAlone interrupts a member that waits for the others, which is no failure.
func TestEtcdServeAlone(t *testing.T) {
	t.Parallel()
	p := etcdServe(t, t.TempDir(), portsInARow(t, 6), 2)
	until(t, "the member says that it waits", func() bool {
		return strings.Contains(p.stderr.String(), "it waits for a majority of the members")
	})
	select {
	case line := <-p.ready:
		t.Errorf("a member alone said %q: %s", line, p.stderr)
	default:
	}
	interrupt(t, p.Cmd, p.Wait)
}

func TestEtcdServeArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		member   string
		of, port int
		want     string
	}{
		{"1", 3, 2379, ""},
		{"3", 3, 65530, ""},
		{"1", 1, 1, ""},
		{"4", 3, 2379, `"4" is none of the members 1 to 3`},
		{"0", 3, 2379, `"0" is none of the members`},
		{"one", 3, 2379, `"one" is none of the members`},
		{"1", 8, 2379, "--of: a cluster has 1 to 7 members"},
		{"1", 0, 2379, "--of: a cluster has 1 to 7 members"},
		{"3", 3, 65531, "--port: 3 members need 6 ports: give 1 to 65530"},
		{"1", 3, 0, "--port: 3 members need 6 ports"},
	} {
		o := &etcdServeOptions{of: c.of, port: c.port}
		err := o.complete(c.member)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s of %d at %d: %v, want %q", c.member, c.of, c.port, err, c.want)
		}
	}
}
