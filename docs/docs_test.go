package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// root is where the paths in the documents begin.
const root = ".."

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := fs.ReadFile(Files, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestWays holds the ways that documents describe, row by row, against the code: the files exist, and have the functions.
func TestWays(t *testing.T) {
	for _, name := range []string{"get.md", "crd.md"} {
		rows := regexp.MustCompile("(?m)^\\| (\\d+) \\| (\\S+\\.go) \\| `(\\w+)` \\|").FindAllStringSubmatch(read(t, name), -1)
		if len(rows) == 0 {
			t.Errorf("%s describes no way", name)
		}
		for _, row := range rows {
			if step, err := strconv.Atoi(row[1]); err != nil || step > 10 {
				t.Errorf("%s goes through more than 10 files", name)
			}
			source, err := os.ReadFile(filepath.Join(root, row[2]))
			if err != nil {
				t.Error(err)
				continue
			}
			if !regexp.MustCompile(`(?m)^func (\([^)]+\) )?` + row[3] + `\(`).Match(source) {
				t.Errorf("%s has no function %s", row[2], row[3])
			}
		}
	}
}

// TestPaths finds the files and directories that the documents name.
func TestPaths(t *testing.T) {
	names, err := fs.Glob(Files, "*.md")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range append(names, "../README.md") {
		if name == "reference.md" {
			continue // made from the commands' help, which names addresses and API groups, and checked there
		}
		var text string
		if strings.HasPrefix(name, "..") {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		} else {
			text = read(t, name)
		}
		for _, path := range regexp.MustCompile(`\b(?:cmd/kx|core|server|store|tui|docs)/[\w/.-]*\w`).FindAllString(text, -1) {
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s names %s, which is not there", name, path)
			}
		}
	}
}
