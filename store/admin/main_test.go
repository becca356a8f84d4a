package admin

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/wal"

	"github.com/kx-apiserver/kx/store/embedded"
)

// etcd is one that all tests of a kind share.
type etcd struct {
	dir    string
	server *embedded.Server
	live   *Live
}

func startEtcd(dir string) (*etcd, error) {
	socket := filepath.Join(dir, embedded.SocketName)
	server, err := embedded.Start(context.Background(), embedded.Config{
		Dir: filepath.Join(dir, "etcd"), Ephemeral: true, Socket: socket, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	live, err := Connect(context.Background(), Endpoint{URLs: []string{"unix://" + socket}})
	if err != nil {
		server.Close()
		return nil, err
	}
	return &etcd{dir, server, live}, nil
}

func (e *etcd) stop() {
	_ = e.live.Close()
	e.server.Close()
}

// newEtcd is one that ends with the test.
func newEtcd(t testing.TB) *etcd {
	t.Helper()
	e, err := startEtcd(shortDir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.stop)
	return e
}

// shortDir has a path that leaves room for that of a socket.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

var sharedDir string

// shared is the etcd for tests that mind neither its revision nor keys of others.
var shared = sync.OnceValues(func() (*etcd, error) { return startEtcd(sharedDir) })

func sharedEtcd(t testing.TB) *etcd {
	t.Helper()
	e, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestMain(m *testing.M) {
	wal.SegmentSizeBytes = 1 << 20 // tests read and copy these files
	var err error
	if sharedDir, err = os.MkdirTemp("", "kx"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if e, err := shared(); err == nil {
		e.stop()
	}
	os.RemoveAll(sharedDir)
	os.Exit(code)
}

func (e *etcd) put(t testing.TB, key, value string) int64 {
	t.Helper()
	resp, err := e.live.Client.Put(context.Background(), key, value)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header.Revision
}

func (e *etcd) del(t testing.TB, key string) int64 {
	t.Helper()
	resp, err := e.live.Client.Delete(context.Background(), key, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header.Revision
}

func collect[T any](t testing.TB, rows iter.Seq2[T, error]) []T {
	t.Helper()
	var out []T
	for row, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

// firstErr is what a stream fails with.
func firstErr[T any](rows iter.Seq2[T, error]) error {
	for _, err := range rows {
		if err != nil {
			return err
		}
	}
	return nil
}
