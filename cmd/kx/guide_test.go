package main

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/cmd/kx/internal/kubectl"
	"github.com/kx-apiserver/kx/docs"
)

// TestGuide runs the blocks of docs/guide.md, and looks up the commands that its text names.
func TestGuide(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh to run the guide in")
	}
	data, err := fs.ReadFile(docs.Files, "guide.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(data), -1)
	if len(blocks) < 5 {
		t.Fatalf("%d blocks", len(blocks))
	}
	root := newRootCommand(kubectl.Streams{})
	for _, m := range regexp.MustCompile("`kx ([^`]+)`").FindAllStringSubmatch(string(data), -1) {
		if c, _, err := root.Find(strings.Fields(m[1])); err != nil || c == root {
			t.Errorf("there is no command kx %s: %v", m[1], err)
		}
	}
	for i, block := range blocks {
		name, _, _ := strings.Cut(block[1], "\n")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			followGuide(t, blocks[i][1])
		})
	}
}

// followGuide runs a block, and again if its servers keep data, as a reader does who pastes it again.
func followGuide(t *testing.T, script string) {
	dir, bin := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "kx")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 6*patience)
	defer cancel()
	// Another program may have the ports that the guide names.
	named, free := 23790, portsInARow(t, 6)
	for i := range 6 {
		script = strings.ReplaceAll(script, strconv.Itoa(named+i), strconv.Itoa(free+i))
	}
	if strings.Contains(script, "--data-dir") {
		script += "\n" + script
	}
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"+script+"\nwait\n")
	cmd.Dir, cmd.WaitDelay = dir, 10*time.Second
	cmd.Env = append(kx(t).Env, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
		logs, _ := filepath.Glob(filepath.Join(dir, "log*"))
		for _, log := range logs {
			text, _ := os.ReadFile(log)
			t.Logf("%s:\n%s", filepath.Base(log), text)
		}
	}
}
