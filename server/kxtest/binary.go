package kxtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

const (
	kxModule   = "github.com/kx-apiserver/kx"
	testModule = kxModule + "/server/kxtest"
	kxCommand  = kxModule + "/cmd/kx"
)

// binary returns the path of the kx binary. It looks for it, and maybe builds it, once in a process.
var binary = sync.OnceValues(findBinary)

func findBinary() (string, error) {
	path, err := installed()
	if path != "" || err != nil {
		return path, err
	}
	path, err = build(sourceDir(), version())
	if err != nil {
		return "", fmt.Errorf("there is no kx in the PATH, the variable KX names none, and it can't be built: %w", err)
	}
	return path, nil
}

// installed returns the path of the kx binary if there is one; empty if not.
func installed() (string, error) {
	if path := os.Getenv("KX"); path != "" {
		found, err := exec.LookPath(path)
		if err != nil {
			return "", fmt.Errorf("the variable KX names no program: %w", err)
		}
		return filepath.Abs(found) // the servers' directory is another one
	}
	path, _ := exec.LookPath("kx")
	return path, nil
}

// sourceDir returns the directory of kx's source if this package was compiled in one; empty if not.
func sourceDir() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return ""
	}
	dir := filepath.Join(filepath.Dir(file), "..", "..")
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !strings.HasPrefix(string(text), "module "+kxModule+"\n") {
		return ""
	}
	return dir
}

// version returns the version of this module, which is that of kx too; empty if it has none.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == testModule && m.Replace == nil && strings.HasPrefix(m.Version, "v") {
			return m.Version
		}
	}
	return ""
}

// unfit is the error of a binary that does not serve. It says so if the binary is of another version than this package.
func unfit(path, wanted, what string) error {
	is := release(path)
	if wanted == "" || is == strings.TrimPrefix(wanted, "v") || is == unreleased {
		return fmt.Errorf("%s serve %s", path, what)
	}
	return fmt.Errorf("%s serve %s; its version is %s, and that of this package %s: have the variable KX name a kx of that version",
		path, what, is, wanted)
}

const (
	// unreleased is the version of a binary that go built.
	unreleased = "devel"
	// versionMost limits the wait for a binary to print its version.
	versionMost = 5 * time.Second
)

// release returns the version that a binary prints.
func release(path string) string {
	ctx, cancel := context.WithTimeout(context.Background(), versionMost)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "version")
	cmd.WaitDelay = time.Second // it may have started others
	out, err := cmd.Output()
	if found := regexp.MustCompile(`^kx (\S+?),? `).FindSubmatch(out); err == nil && found != nil {
		return string(found[1])
	}
	return "unknown"
}

// build builds the binary in the user's cache, from the source in a directory, or else the source of a version.
func build(source, version string) (string, error) {
	if source == "" && version == "" {
		return "", errors.New("this package has neither a version nor the source of kx beside it: go install " + kxCommand +
			"@latest, or set KX")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	name := version
	if source != "" {
		name = "source"
	}
	dir := filepath.Join(cache, "kxtest", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// The tests of several packages start at once, and one of them builds.
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := lock(f, true); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "kx")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	_, missing := os.Stat(path)
	if source == "" && missing == nil {
		return path, nil
	}
	if missing != nil {
		fmt.Fprintf(os.Stderr, "kxtest: building kx once, as %s: this takes minutes\n", path)
	}
	if source != "" {
		return path, compile(source, dir, "build", "-o", path, "./cmd/kx")
	}
	// The binary gets its name when it is whole: a build that is killed must not leave a part of one to the next test.
	whole := filepath.Join(dir, "build")
	defer os.RemoveAll(whole)
	if err := errors.Join(os.RemoveAll(whole), compile("", whole, "install", kxCommand+"@"+version)); err != nil {
		return "", err
	}
	return path, os.Rename(filepath.Join(whole, filepath.Base(path)), path)
}

// compile runs go in a directory, and installs into another one. If the source has not changed, go keeps the binary.
func compile(in, into, verb string, args ...string) error {
	// As kx is released.
	cmd := exec.Command("go", append([]string{verb, "-tags=kustomize_disable_go_plugin_support", "-buildvcs=false"}, args...)...)
	cmd.Dir = in
	cmd.Env = append(os.Environ(), "GOBIN="+into, "GOFLAGS=", "GOWORK=off", "GOOS=", "GOARCH=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, lastLines(string(out), 3))
	}
	return nil
}

// lastLines returns the last n lines of a text, in one line.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
