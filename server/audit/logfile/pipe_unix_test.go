//go:build unix

package logfile

import (
	"bufio"
	"os"
	"path/filepath"
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
