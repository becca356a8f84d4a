package assets

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestArchivesAtOnce writes archives of one name and several contents at once. The index has the hash of the one that
// stays, and nothing else does.
func TestArchivesAtOnce(t *testing.T) {
	t.Parallel()
	kxs := t.TempDir()
	var archives []*Archive
	for _, content := range []string{"a", "b", "c"} {
		a := &Archive{KX: filepath.Join(kxs, content), Version: "v1.0.0", OS: "linux", Arch: "amd64", URL: "https://example.com"}
		if err := os.WriteFile(a.KX, []byte(strings.Repeat(content, 1<<10)), 0o700); err != nil {
			t.Fatal(err)
		}
		archives = append(archives, a)
	}
	dir := t.TempDir()
	for range 50 {
		var written sync.WaitGroup
		for _, a := range archives {
			written.Go(func() {
				if _, err := a.Write(t.Context(), dir); err != nil {
					t.Error(err)
				}
			})
		}
		written.Wait()
		archive, err := os.ReadFile(filepath.Join(dir, archives[0].Name()))
		if err != nil {
			t.Fatal(err)
		}
		var all index
		if text, err := os.ReadFile(filepath.Join(dir, IndexName)); err != nil || yaml.UnmarshalStrict(text, &all) != nil {
			t.Fatalf("%v: %s", err, text)
		}
		sum := sha512.Sum512(archive)
		if hash := all.Releases["v1.0.0"][archives[0].Name()].Hash; hash != hex.EncodeToString(sum[:]) {
			t.Fatalf("the index has %.8s, and the archive %.8x", hash, sum)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 3 { // with the lock of the index
		t.Errorf("%v, %v", left, err)
	}
}

// TestInterrupted: an archive that is interrupted leaves no part of it, also when it waits for the index.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	dir, kx := t.TempDir(), filepath.Join(t.TempDir(), "kx")
	if err := os.WriteFile(kx, []byte("one"), 0o700); err != nil {
		t.Fatal(err)
	}
	held, err := lock(t.Context(), filepath.Join(dir, IndexName+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	interrupted := errors.New("interrupted")
	a := &Archive{KX: kx, Version: "v1.0.0", OS: "linux", Arch: "amd64", URL: "https://example.com"}
	for _, early := range []bool{true, false} {
		ctx, interrupt := context.WithCancelCause(t.Context())
		if early {
			interrupt(interrupted)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := a.Write(ctx, dir)
			ended <- err
		}()
		for !early {
			if found, _ := filepath.Glob(filepath.Join(dir, ".archive-*")); len(found) > 0 {
				break
			}
			runtime.Gosched()
		}
		interrupt(interrupted)
		if err := <-ended; !errors.Is(err, interrupted) {
			t.Errorf("%v", err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 { // the lock
			t.Errorf("%v, %v", left, err)
		}
	}
}

// TestBrokenIndex: an archive that can't be entered into the index does not replace the one that is.
func TestBrokenIndex(t *testing.T) {
	t.Parallel()
	dir, kx := t.TempDir(), filepath.Join(t.TempDir(), "kx")
	a := &Archive{KX: kx, Version: "v1.0.0", OS: "linux", Arch: "amd64", URL: "https://example.com"}
	if err := os.WriteFile(kx, []byte("one"), 0o700); err != nil {
		t.Fatal(err)
	}
	path, err := a.Write(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{kx: "two", filepath.Join(dir, IndexName): "no: index"} {
		if err := os.WriteFile(name, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Write(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "read the index") {
		t.Error(err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the archive has changed: %v", err)
	}
}
