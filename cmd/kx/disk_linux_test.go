package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sys/unix"
)

// TestFullDisk lets a server write no further, as on a disk that is full. It ends and says why, although requests are under
// way that might wait for an hour. What it acknowledged is there when it is started again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, "--data-dir", dir, "--request-timeout=1h")
	maps := p.client(t).CoreV1().ConfigMaps("default")
	create := func(n int) error {
		_, err := maps.Create(context.Background(), configMap(fmt.Sprintf("before-%d", n)), metav1.CreateOptions{})
		return err
	}
	if err := create(0); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	for range 8 {
		reading.Go(func() {
			for err := error(nil); err == nil; {
				_, err = maps.Get(context.Background(), "before-0", metav1.GetOptions{})
			}
		})
	}
	limit := unix.Rlimit{Cur: 4096, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(p.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		t.Fatal(err)
	}
	done := 1
	for create(done) == nil {
		done++
	}
	var exit *exec.ExitError
	if err := p.wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("kx ended with %v: %s", err, p.stderr)
	}
	if said := p.stderr.String(); !strings.Contains(said, "kx: the etcd in this process failed: ") || !strings.Contains(said, "file too large") {
		t.Errorf("it said %s", said)
	}
	again := serve(t, "--data-dir", dir).client(t).CoreV1().ConfigMaps("default")
	for n := range done {
		if _, err := again.Get(context.Background(), fmt.Sprintf("before-%d", n), metav1.GetOptions{}); err != nil {
			t.Errorf("what was acknowledged: %v", err)
		}
	}
}

// TestFullDiskOfDatabase lets etcd fail while it writes its database: no read of that etcd ever ends.
func TestFullDiskOfDatabase(t *testing.T) {
	t.Setenv("KUBE_WATCHCACHE_CONSISTENCY_CHECKER", "1ms") // caches read etcd all the time
	p := serve(t, "--data-dir", t.TempDir())
	maps := p.client(t).CoreV1().ConfigMaps("default")
	if _, err := maps.Create(context.Background(), configMap("a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	limit := unix.Rlimit{Cur: 4096, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(p.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		t.Fatal(err)
	}
	// If etcd had written its database before there was a limit, another write ends it.
	another := time.AfterFunc(8*time.Second, func() {
		_, _ = maps.Create(context.Background(), configMap("b"), metav1.CreateOptions{})
	})
	defer another.Stop()
	var exit *exec.ExitError
	if err := p.wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("kx ended with %v: %s", err, p.stderr)
	}
}
