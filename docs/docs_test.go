package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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

// TestTables looks up the functions that the tables of crd.md name. The tables of get.md have a test in package server,
// which sends the requests.
func TestTables(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| \\d+ \\| (\\S+\\.go) \\| `(\\w+)` \\|").FindAllStringSubmatch(read(t, "crd.md"), -1)
	if len(rows) == 0 {
		t.Error("crd.md has no table of functions")
	}
	for _, row := range rows {
		source, err := os.ReadFile(filepath.Join(root, row[1]))
		if err != nil {
			t.Error(err)
			continue
		}
		if !regexp.MustCompile(`(?m)^func (\([^)]+\) )?` + row[2] + `\(`).Match(source) {
			t.Errorf("%s has no function %s", row[1], row[2])
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
		// What follows a slash is a path of another project.
		for _, m := range regexp.MustCompile(`(?m)(?:^|[^\w/.-])((?:cmd/kx|core|server|store|tui|docs)/[\w/.-]*\w)`).FindAllStringSubmatch(text, -1) {
			path := m[1]
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s names %s, which is not there", name, path)
			}
		}
	}
}

// TestGoBlocks finds the Go of testing.md in tests, which a module compiles and runs.
func TestGoBlocks(t *testing.T) {
	var tests strings.Builder
	for _, room := range []string{"server/kxtest", "server/testdata/controllerruntime"} {
		files, err := filepath.Glob(filepath.Join(root, room, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(room, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(text)
		}
	}
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(read(t, "testing.md"), -1)
	if len(blocks) == 0 {
		t.Error("testing.md has no Go")
	}
	for _, block := range blocks {
		if !strings.Contains(tests.String(), block[1]) {
			t.Errorf("no test has\n%s", block[1])
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fences  = regexp.MustCompile("(?ms)^```.*?^```$")
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks follows the links of the documents to files, pictures and headings, and finds each picture shown.
func TestLinks(t *testing.T) {
	names, err := filepath.Glob("*.md")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	names = append(names, filepath.Join(root, "README.md"))
	texts, has := map[string]string{}, map[string]map[string]bool{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = fences.ReplaceAllString(string(text), "")
		has[name] = headings(texts[name])
	}
	shown := map[string]bool{}
	for _, name := range names {
		for _, m := range link.FindAllStringSubmatch(texts[name], -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, ":") {
				continue // elsewhere
			}
			file := name
			if to != "" {
				file = filepath.Join(filepath.Dir(name), to)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
				continue
			}
			shown[filepath.Base(file)] = true
			if anchor != "" && has[file] != nil && !has[file][anchor] {
				t.Errorf("%s links to %s, which has no such heading", name, m[1])
			}
		}
	}
	pictures, err := filepath.Glob(filepath.Join("pictures", "*"))
	if err != nil || len(pictures) == 0 {
		t.Fatal(pictures, err)
	}
	for _, p := range pictures {
		if !shown[filepath.Base(p)] {
			t.Errorf("no document shows %s", p)
		}
	}
}

// headings are the headings of a document, by the names that links give them.
func headings(text string) map[string]bool {
	names := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := dropped.ReplaceAllString(strings.ToLower(link.ReplaceAllString(m[1], "")), "")
		names[strings.ReplaceAll(name, " ", "-")] = true
	}
	return names
}
