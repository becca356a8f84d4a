// Package embedtest gives tests a real etcd.
//
// It owns etcds that live as long as a test or a test binary: one in this process with [New], one for a whole package
// with [Main] and [Shared], and a cluster of three with [StartCluster]. They keep nothing and write without fsync.
package embedtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/store/embedded"
)

// startLimit is when a start is given up. It is there for the day that something hangs; a start takes 0.1 s.
const startLimit = 2 * time.Minute

// New starts an etcd that ends with the test.
func New(t testing.TB) *embedded.Server {
	t.Helper()
	server, err := start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

func start(dir string) (*embedded.Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	return embedded.Start(ctx, embedded.Config{Dir: dir, Ephemeral: true})
}

// shared is the etcd of this test binary; its first user starts it. mu guards its fields.
var shared struct {
	mu     sync.Mutex
	inMain bool
	dir    string
	server *embedded.Server
	err    error
}

// Main runs a package's tests and then ends their shared etcd, and the process:
//
//	func TestMain(m *testing.M) { embedtest.Main(m) }
func Main(m *testing.M) {
	shared.mu.Lock()
	shared.inMain = true
	shared.mu.Unlock()
	code := m.Run()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server != nil {
		shared.server.Close()
	}
	if shared.dir != "" {
		if err := os.RemoveAll(shared.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// Shared returns the etcd of all tests of a package, whose TestMain must call Main. The first call starts it. Tests
// that share it use only keys below their own Prefix.
func Shared(t testing.TB) *embedded.Server {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.inMain {
		t.Fatal("embedtest.Shared needs func TestMain(m *testing.M) { embedtest.Main(m) } to end its etcd")
	}
	if shared.server == nil && shared.err == nil {
		if shared.dir, shared.err = os.MkdirTemp("", "kx-etcd-"); shared.err == nil {
			shared.server, shared.err = start(shared.dir)
		}
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

var prefixes atomic.Int64

// Prefix returns a key prefix that is unique in this test binary, such as "/registry-7".
func Prefix() string { return fmt.Sprintf("/registry-%d", prefixes.Add(1)) }
