//go:build unix

package logfile

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestPipe: a pipe that nothing reads is an error, and no wait; one with a reader gets the lines.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(path, 0o600))
	if f, err := Open(Config{Path: path}); err == nil || !strings.Contains(err.Error(), "start its reader first") {
		t.Fatal(f, err)
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	must(t, err)
	defer reader.Close()
	f := openHere(t, Config{Path: path, MaxBytes: 1}, standing)
	_, err = f.Write([]byte("line\n"))
	must(t, err)
	if line, err := bufio.NewReader(reader).ReadString('\n'); line != "line\n" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	must(t, f.Close())
}

// TestStuckPipe: a write to a pipe whose reader has stopped to read does not keep the log from closing.
func TestStuckPipe(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("a write to a full pipe fails at once")
	}
	path := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(path, 0o600))
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	must(t, err)
	defer reader.Close()
	f := openHere(t, Config{Path: path}, standing)
	written := make(chan error)
	go func() {
		_, err := f.Write(make([]byte, 4<<20)) // more than a pipe holds
		written <- err
	}()
	_, err = io.ReadFull(reader, make([]byte, 1)) // the write has begun
	must(t, err)
	must(t, f.Close())
	if err := <-written; !errors.Is(err, os.ErrClosed) {
		t.Errorf("the write ended with %v", err)
	}
}
