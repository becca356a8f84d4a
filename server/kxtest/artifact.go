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
	ctx, cancel := context.WithTimeout(context.Background(), keepMost)
	defer cancel()
	wanted, what, err := s.worthKeeping(ctx)
	if err == nil && wanted == "" {
		return "kxtest: this test made no requests that could be kept"
	}
	path, kx := "", s.process.path
	if err == nil && kx == "" {
		if kx, err = installed(); err == nil && kx == "" {
			err = errors.New("a server in the test's process needs the binary for that: put kx into the PATH, or have KX name one")
		}
	}
	if err == nil {
		path, err = s.page()
	}
	if err == nil {
		cmd := exec.CommandContext(ctx, kx, "trace", "export", wanted, "-o", "html", "--out", path,
			"--kubeconfig", s.Kubeconfig())
		if out, problem := cmd.CombinedOutput(); problem != nil {
			err = fmt.Errorf("kx trace export: %w: %s", problem, lastLines(string(out), 1))
			os.Remove(path)
		}
	}
	if err != nil {
		return fmt.Sprintf("kxtest: the requests of this test are not kept: %v", err)
	}
	return fmt.Sprintf("kxtest: %s of this test, for a browser or kx tui -r: %s", what, path)
}

// A page has the latest requests and the latest refused ones, about 40 KB for each.
const latestMost, refusedMost = 200, 100

// worthKeeping returns a filter for the requests of a page, and says what it selects. The filter is empty if there are
// none.
func (s *Server) worthKeeping(ctx context.Context) (filter, what string, err error) {
	all, err := s.client.journeys(ctx, "after:"+s.begin)
	if err != nil || len(all) == 0 {
		return "", "", err
	}
	if len(all) <= latestMost {
		return "after:" + s.begin, "the requests", err
	}
	latest := "after:" + all[len(all)-latestMost-1].ID
	since, refused := s.begin, 0
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Code < 400 {
			continue
		}
		if refused++; refused > refusedMost {
			since = all[i].ID
			break
		}
	}
	what = fmt.Sprintf("the latest %d requests, and refused ones before them,", latestMost)
	return fmt.Sprintf("%s | after:%s code>=400", latest, since), what, nil
}

// nameMost limits the name of a file, for which systems have 255 bytes, without its ends.
const nameMost = 200

// page makes an empty file with a name of its own.
func (s *Server) page() (string, error) {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|# `, r) {
			return '-'
		}
		return r
	}, s.t.Name())
	name = strings.ToValidUTF8(name[:min(len(name), nameMost)], "")
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
