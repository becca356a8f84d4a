package server_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/server"
)

// The embedded files are those of the rooms and what they embed themselves, and nothing else: no test is in, no test's helper, and
// nothing below a testdata, server/internal or server/kxtest.
func TestSource(t *testing.T) {
	resources := embeddedByOthers(t)
	var want []string
	for _, room := range []string{"core", "server", "store"} {
		err := fs.WalkDir(os.DirFS(".."), room, func(path string, d fs.DirEntry, err error) error {
			if d.IsDir() && (d.Name() == "testdata" || path == "server/internal" || path == "server/kxtest") {
				return fs.SkipDir
			}
			if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "test.go") || slices.Contains(resources, path) {
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
	if size > 7<<20 {
		t.Errorf("the source has %d bytes, more than a binary should carry of it", size)
	}
	t.Logf("%d files, %d bytes", len(got), size)
}

// embeddedByOthers are the files that packages of the rooms embed for themselves.
func embeddedByOthers(t *testing.T) []string {
	t.Helper()
	const format = `{{$dir := .ImportPath}}{{range .EmbedFiles}}{{$dir}}/{{.}} {{end}}`
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", format, ".")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	var files []string
	for _, file := range strings.Fields(string(out)) {
		if path, ours := strings.CutPrefix(file, "github.com/kx-apiserver/kx/"); ours && !strings.HasSuffix(path, ".go") {
			files = append(files, path)
		}
	}
	return files
}
