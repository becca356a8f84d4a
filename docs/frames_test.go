package docs

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "put the frames of the screen's tests into the documents")

// frame is where a document shows a frame: the file that has it, and the frame.
var frame = regexp.MustCompile("(?m)^<!-- frame (\\S+) -->\n(\n```\n(?s:.*?)\n```\n)?")

// TestFrames holds the frames that documents show against those that the screen's tests have. -rewrite takes them over.
func TestFrames(t *testing.T) {
	names, err := fs.Glob(Files, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range names {
		text := read(t, name)
		want := frame.ReplaceAllStringFunc(text, func(old string) string {
			found++
			file := frame.FindStringSubmatch(old)[1]
			golden, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				t.Error(err)
				return old
			}
			return "<!-- frame " + file + " -->\n\n```\n" + strings.TrimRight(string(golden), "\n") + "\n```\n"
		})
		if want == text {
			continue
		}
		if !*rewrite {
			t.Errorf("%s shows frames that the screen no longer has: go test ./docs -rewrite", name)
			continue
		}
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Error("no document shows a frame")
	}
}
