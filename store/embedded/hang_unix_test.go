//go:build unix

package embedded_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/store/embedded"
)

// TestStartThatReadsForEver has a file in the directory from which nothing ever comes. Nothing ends such a read, but the
// start that waits for it can be given up.
func TestStartThatReadsForEver(t *testing.T) {
	dir := t.TempDir()
	putAll(t, dir, 0, 1)
	pipe := filepath.Join(dir, "member", "snap", "0000000000000001-0000000000000001.snap")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	// Whoever writes to it finds that somebody reads, and lets them go.
	opened := make(chan *os.File)
	go func() {
		f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
		}
		opened <- f
	}()
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := embedded.Start(ctx, embedded.Config{Dir: dir, Ephemeral: true})
		ended <- err
	}()
	reading := <-opened
	defer func() { _ = reading.Close() }()
	cancel(errors.New("told to stop"))
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "told to stop") {
			t.Errorf("got %v", err)
		}
	case <-time.After(3 * time.Minute):
		t.Fatal("it hangs")
	}
}
