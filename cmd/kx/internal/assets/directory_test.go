package assets

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCopies makes the directory of a kx that can't be linked to: that of go run, on another file system. It takes the
// space of one kx, and each name is a program.
func TestCopies(t *testing.T) {
	kxs, err := os.MkdirTemp("/dev/shm", "kx")
	if err != nil {
		t.Skipf("no other file system is known here: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(kxs) })
	t.Setenv("TMPDIR", kxs)
	kx, cache := filepath.Join(kxs, "kx"), filepath.Dir(os.Args[0])
	if err := os.WriteFile(kx, []byte("program"), 0o700); err != nil {
		t.Fatal(err)
	}
	cache, err = os.MkdirTemp(cache, "cache")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(cache) })
	if os.Link(kx, filepath.Join(cache, "linked")) == nil {
		t.Skip("the system has one file system for both")
	}
	dir, err := Directory(t.Context(), cache, "v1", kx)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(kx); err != nil {
		t.Fatal(err)
	}
	var files []os.FileInfo
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name+filepath.Ext(kx)))
		if err != nil || info.Mode()&0o100 == 0 || info.Size() != int64(len("program")) {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		files = append(files, info)
	}
	if !os.SameFile(files[0], files[1]) || !os.SameFile(files[0], files[2]) {
		t.Error("there are several copies")
	}
}
