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

// Check is one requirement of lessons on a machine.
type Check struct {
	Name string
	// Problem explains why the machine fails the requirement, and what to do. It is empty if the requirement is met.
	Problem string
	// Lessons lists the lessons with this requirement. It is empty if all have it.
	Lessons []learn.Entry
}

// roomNeeded is the space that a lesson needs in the directory for temporary files: a new etcd with some objects.
const roomNeeded = 128 << 20

// Machine checks whether this machine can play lessons. progressFile keeps the user's progress.
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

// port opens a port like a lesson's server.
func port() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	return l.Close()
}

// room writes as much as a lesson does: free disk space alone would not show a quota.
func room(dir string) (err error) {
	f, err := os.CreateTemp(dir, "kx-learn-check-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	_, err = io.CopyN(f, zeros{}, roomNeeded)
	return err
}

// zeros is an endless reader of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// progress checks that the progress file can be read and written.
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
