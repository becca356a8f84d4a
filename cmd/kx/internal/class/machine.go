package class

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kx-apiserver/kx/cmd/kx/internal/learn"
	"github.com/kx-apiserver/kx/tui/play"
)

// Check is one thing that lessons need of a machine.
type Check struct {
	Name string
	// Problem is why it is not there, and what to do; empty if it is there.
	Problem string
	// Lessons need it; empty if all do.
	Lessons []learn.Entry
}

// roomNeeded is how much a lesson writes into the directory for temporary files: a new etcd, with some objects.
const roomNeeded = 128 << 20

// Machine looks whether this machine can play lessons, whose progress is kept in a file.
func Machine(entries []learn.Entry, progressFile string, terminal func() error) []Check {
	checks := []Check{
		{Name: "a terminal", Problem: problem(terminal())},
		{Name: "sh", Problem: problem(shell())},
		{Name: "a port of 127.0.0.1", Problem: problem(port())},
		{Name: fmt.Sprintf("%d MiB in %s", roomNeeded>>20, os.TempDir()), Problem: problem(room(os.TempDir()))},
		{Name: "the progress in " + progressFile, Problem: problem(progress(progressFile))},
	}
	for _, need := range []struct{ name, what string }{
		{"tools", "sed, grep and the like"}, {"go", "Go"},
	} {
		check := Check{Name: need.what}
		for _, e := range entries {
			for _, wanted := range e.AllNeeds() {
				if wanted == need.name {
					check.Lessons = append(check.Lessons, e)
				}
			}
		}
		if len(check.Lessons) == 0 {
			continue
		}
		if lacks := play.Lacks([]string{need.name}); lacks != "" {
			check.Problem = lacks + " is not here"
		}
		checks = append(checks, check)
	}
	return checks
}

func problem(err error) string {
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

func shell() error {
	if _, err := exec.LookPath("sh"); err != nil {
		return fmt.Errorf("%w: on Windows, play lessons in WSL", err)
	}
	return nil
}

// port opens a port as a lesson's server does.
func port() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return l.Close()
}

// room writes as much as a lesson does, since no free disk can be told from a quota otherwise.
func room(dir string) (err error) {
	f, err := os.CreateTemp(dir, "kx-learn-check-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	_, err = io.CopyN(f, zeros{}, roomNeeded)
	return err
}

// zeros has no end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// progress looks whether what was done can be kept, and read.
func progress(file string) error {
	if _, err := play.LoadProgress(file); err != nil {
		return err
	}
	dataDir := filepath.Dir(file)
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dataDir, ".learn-check-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
