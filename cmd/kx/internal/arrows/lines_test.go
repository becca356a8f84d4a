package arrows

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// A line of code has 140 columns at most and a comment 120, so that two files stand side by side.
const (
	codeMost    = 140
	commentMost = 120
	tabWidth    = 4
)

// root is the directory of the repository.
var root = filepath.Join("..", "..", "..", "..")

// TestLines finds lines of production code that are too long. Lines of raw strings are as long as what they say.
func TestLines(t *testing.T) {
	productionFiles(t, func(path string) { checkLines(t, path) })
}

// productionFiles calls visit with the path of each Go file that is not for tests.
func productionFiles(t *testing.T, visit func(path string)) {
	t.Helper()
	for _, room := range []string{"cmd", "core", "docs", "server", "store", "tui"} {
		err := filepath.WalkDir(filepath.Join(root, room), func(path string, d os.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return filepath.SkipDir
			case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
				visit(path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func checkLines(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw := rawLines(path, text)
	for i, line := range strings.Split(string(text), "\n") {
		width := utf8.RuneCountInString(line) + (tabWidth-1)*strings.Count(line, "\t")
		most := codeMost
		if comment, ok := strings.CutPrefix(strings.TrimSpace(line), "// "); ok && !strings.HasPrefix(comment, " ") {
			most = commentMost
		}
		if width > most && !raw[i+1] {
			t.Errorf("%s:%d has %d columns, %d at most", path, i+1, width, most)
		}
	}
}

// rawLines returns the lines that a raw string covers.
func rawLines(path string, text []byte) map[int]bool {
	lines := map[int]bool{}
	file := token.NewFileSet().AddFile(path, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return lines
		}
		if kind == token.STRING && literal[0] == '`' {
			first := file.Line(pos)
			for line := range strings.Count(literal, "\n") + 1 {
				lines[first+line] = true
			}
		}
	}
}
