package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestArchiveRefused: what would make an archive that nobody can use is refused in one sentence, and leaves nothing.
func TestArchiveRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	dist := filepath.Join(dir, "dist")
	for _, test := range []struct{ args, want string }{
		{"--archive DIST", "--url is missing"},
		{"--archive DIST --url example.com/kx", `--url: "example.com/kx" is not a URL such as https://`},
		{"--archive DIST --url https://example.com --platform plan9/386", "--platform is plan9/386, but "},
		{"--archive DIST --url https://example.com --platform plan9/386", "was built for " + runtime.GOOS + "/" + runtime.GOARCH},
		{"--archive DIST --url https://example.com --binary " + text, text + " is no kx"},
		{"--archive DIST --url https://example.com --binary " + dir, dir + " is no file"},
		{"--archive DIST --url https://example.com --binary /does/not/exist", "no such file"},
		{"--platform plan9/386", "give --archive too"},
	} {
		cmd := kx(t, append([]string{"testassets"}, strings.Fields(strings.ReplaceAll(test.args, "DIST", dist))...)...)
		said, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(said), test.want) || strings.Count(string(said), "\n") != 1 {
			t.Errorf("kx testassets %s: %v, %q", test.args, err, said)
		}
	}
	if _, err := os.Stat(dist); err == nil {
		t.Error("there is a directory for no archive")
	}
}
