package kxtest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDirectoryOfOddName: a directory for temporary files whose name is a pattern hides neither the server's data nor the
// directory of a process that was killed.
func TestDirectoryOfOddName(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "a [b]")
	abandoned := filepath.Join(parent, dirPrefix+"1")
	if err := os.MkdirAll(abandoned, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(abandoned, lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", parent)
	t.Setenv("TMP", parent)
	dir, err := newDirectory()
	if err != nil {
		t.Fatal(err)
	}
	defer dir.remove()
	data := dir.file("kx-1")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "serving.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := (&process{dir: dir}).data(); got != data || err != nil {
		t.Errorf("the data is in %q: %v", got, err)
	}
	if _, err := os.Stat(abandoned); err == nil && canLock(t) {
		t.Error("the directory of a process that was killed is still there")
	}
}

// canLock reports whether this system has locks.
func canLock(t *testing.T) bool {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	free, err := lock(f, false)
	return free && err == nil
}
