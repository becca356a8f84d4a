package server_test

import (
	"bytes"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/server"
)

// The embedded files are those of the rooms, and nothing else: no test is in, no test's helper, and nothing below a testdata or
// server/internal.
func TestSource(t *testing.T) {
	var want []string
	for _, room := range []string{"core", "server", "store"} {
		err := fs.WalkDir(os.DirFS(".."), room, func(path string, d fs.DirEntry, err error) error {
			if d.IsDir() && (d.Name() == "testdata" || path == "server/internal") {
				return fs.SkipDir
			}
			if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "test.go") {
				want = append(want, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	size := 0
	embedded := server.Source()
	for _, room := range []string{"core", "server", "store"} {
		err := fs.WalkDir(embedded, room, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			got = append(got, path)
			text, err := fs.ReadFile(embedded, path)
			if err != nil {
				return err
			}
			size += len(text)
			if onDisk, err := os.ReadFile("../" + path); err != nil || !bytes.Equal(onDisk, text) {
				t.Errorf("%s is not embedded as it is (%v)", path, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fs.ReadFile(embedded, "tui/run.go"); err == nil {
		t.Error("there is a room of the screen")
	}
	slices.Sort(want)
	slices.Sort(got)
	for _, path := range want {
		if _, ok := slices.BinarySearch(got, path); !ok {
			t.Errorf("%s is not embedded: the patterns in its room's source.go miss it", path)
		}
	}
	for _, path := range got {
		if _, ok := slices.BinarySearch(want, path); !ok {
			t.Errorf("%s is embedded, and is a test or testdata", path)
		}
	}
	if size > 5<<20 {
		t.Errorf("the source has %d bytes, more than a binary should carry of it", size)
	}
	t.Logf("%d files, %d bytes", len(got), size)
}
