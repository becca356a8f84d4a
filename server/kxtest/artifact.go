package kxtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// artifacts is the variable with the directory for the pages of failed tests.
const artifacts = "KXTEST_ARTIFACTS"

// keepMost limits the time to write a page.
const keepMost = time.Minute

// keep writes the requests of a failed test to a page, and returns a line that says where it is.
func (s *Server) keep() string {
	path, err := s.page()
	if err != nil {
		return fmt.Sprintf("kxtest: the requests of this test are not kept: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), keepMost)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.process.cmd.Path, "trace", "export", "after:"+s.begin, "-o", "html", "--out", path,
		"--kubeconfig", s.Kubeconfig())
	if out, err := cmd.CombinedOutput(); err != nil {
		os.Remove(path)
		return fmt.Sprintf("kxtest: the requests of this test are not kept: kx trace export: %v: %s", err, lastLines(string(out), 1))
	}
	return "kxtest: the requests of this test, for a browser or kx tui -r: " + path
}

// page makes an empty file with a name of its own.
func (s *Server) page() (string, error) {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|# `, r) {
			return '-'
		}
		return r
	}, s.t.Name())
	dir := os.Getenv(artifacts)
	if with, ok := s.t.(interface{ ArtifactDir() string }); ok && dir == "" && keepsArtifacts() {
		dir = with.ArtifactDir()
	}
	if dir == "" {
		f, err := os.CreateTemp("", "kxtest-"+name+"-*.html")
		if err != nil {
			return "", err
		}
		return f.Name(), f.Close()
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	for n := 1; err == nil; n++ {
		path := filepath.Join(dir, name+".html")
		if n > 1 {
			path = filepath.Join(dir, fmt.Sprintf("%s-%d.html", name, n))
		}
		f, problem := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if problem == nil {
			return path, f.Close()
		}
		if !errors.Is(problem, os.ErrExist) {
			err = problem
		}
	}
	return "", fmt.Errorf("%s: %w", dir, err)
}

// keepsArtifacts reports whether go test keeps the ArtifactDir: without -artifacts it removes it after the test.
func keepsArtifacts() bool {
	f := flag.Lookup("test.artifacts")
	return f != nil && f.Value.String() == "true"
}
