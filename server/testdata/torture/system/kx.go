//go:build linux

package system

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// checkEvery is how often each cache compares itself with etcd. One that differs ends the process.
const checkEvery = "500ms"

// Build makes the kx of the tree whose root is given, and says where it is.
func Build(root, dir string, race bool) (string, error) {
	program := filepath.Join(dir, "kx")
	args := []string{"build", "-C", root, "-o", program}
	if race {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "./cmd/kx")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build kx: %w\n%s", err, out)
	}
	return program, nil
}

// KX is one server, over all its runs: its data directory and the address that clients use stay.
type KX struct {
	Name string
	Dir  string
	// Log is the file of its stderr.
	Log string
	// Front is between clients and it. Etcds are between it and each etcd, if that is not its own.
	Front   *Proxy
	Etcds   []*Proxy
	Process *Process

	program string
	args    []string
	env     []string
}

// NewKX prepares a server with its files below dir, on some etcds or on its own.
func NewKX(program, dir, name string, etcds []*Etcd) (*KX, error) {
	front, err := NewProxy(nil)
	if err != nil {
		return nil, err
	}
	k := &KX{Name: name, Dir: filepath.Join(dir, name), Log: filepath.Join(dir, name+".log"), Front: front, program: program}
	k.args = []string{"serve", "--data-dir", k.Dir, "--listen", "127.0.0.1:0", "--allow-faults"}
	var servers []string
	for _, e := range etcds {
		p, err := NewProxy(nil)
		if err != nil {
			return nil, err
		}
		p.Target(e.Client)
		k.Etcds = append(k.Etcds, p)
		servers = append(servers, "http://"+p.Addr())
	}
	if len(servers) > 0 {
		k.args = append(k.args, "--etcd-servers", strings.Join(servers, ","))
	}
	return k, nil
}

// CheckCaches lets each cache of further starts compare itself with etcd again and again.
func (k *KX) CheckCaches() { k.env = append(k.env, "KUBE_WATCHCACHE_CONSISTENCY_CHECKER="+checkEvery) }

// Args adds flags to all further starts.
func (k *KX) Args(args ...string) { k.args = append(k.args, args...) }

// Start starts it again, and returns when it serves.
func (k *KX) Start(ctx context.Context) error {
	if err := k.Launch(); err != nil {
		return err
	}
	return k.Serving(ctx)
}

// Launch starts it and does not wait.
func (k *KX) Launch() (err error) {
	k.Process, err = startProcess(k.Name, k.Log, k.env, k.program, k.args...)
	return err
}

// Serving waits until it says that it serves.
func (k *KX) Serving(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	line, err := k.Process.Ready(ctx)
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(line, "https://")
	addr, _, ok := strings.Cut(rest, " ")
	if !ok {
		return fmt.Errorf("%s said %q", k.Name, line)
	}
	k.Front.Target(addr)
	return nil
}

// Kill ends it at once.
func (k *KX) Kill() { k.Process.kill() }

// Stop asks it to end. Anything but an orderly end is an error.
func (k *KX) Stop(s syscall.Signal) error {
	code, err := k.Process.stop(s, patience)
	if err == nil && code != 0 {
		err = fmt.Errorf("%s ended with %d after %s", k.Name, code, s)
	}
	return err
}

// Socket is that of its own etcd.
func (k *KX) Socket() string { return "unix://" + filepath.Join(k.Dir, "etcd.sock") }

// Config is the administrator's, by way of Front.
func (k *KX) Config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(k.Dir, "kubeconfig"))
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	u.Host = k.Front.Addr()
	config.Host = u.String()
	config.QPS, config.Burst = -1, 0
	config.Timeout = 0
	return config, nil
}

// freePorts are addresses on which nobody listens now.
func freePorts(n int) (addrs []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}

// Close ends the proxies.
func (k *KX) Close() {
	k.Front.Close()
	for _, p := range k.Etcds {
		p.Close()
	}
}
