package assets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/kx-apiserver/kx/tui/disk"
)

// The names of the binaries, by which kx is called.
const (
	APIServer = "kube-apiserver"
	Etcd      = "etcd"
	Kubectl   = "kubectl"
)

// CalledVariable is the environment variable that stands for the name by which kx is called, where there is only one
// file for all names.
const CalledVariable = "KX_CALLED"

// names lists the names of the binaries.
var names = []string{APIServer, Etcd, Kubectl}

// Directory makes the directory of a kx below parent, if it does not exist, and returns its path. release is part of
// its name.
func Directory(ctx context.Context, parent, release, kx string) (string, error) {
	kx, err := filepath.EvalSymlinks(kx)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(kx)
	if err != nil {
		return "", err
	}
	id := sha256.Sum256(fmt.Append(nil, kx, info.Size(), info.ModTime().UnixNano()))
	dir := filepath.Join(parent, release+"-"+hex.EncodeToString(id[:4]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, name := range names {
		made := filepath.Join(dir, name+suffix(runtime.GOOS))
		if err := place(ctx, kx, made); err != nil {
			return "", fmt.Errorf("make %s in %s: %w", name, dir, err)
		}
		kx = made // if it is a copy, the others are links to it
	}
	return dir, nil
}

// suffix ends the names of programs.
func suffix(goos string) string {
	if goos == "windows" {
		return ".exe"
	}
	return ""
}

// place makes name a link to kx, or a copy of it, unless it exists.
func place(ctx context.Context, kx, name string) error {
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	temporary, err := os.MkdirTemp(filepath.Dir(name), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	made := filepath.Join(temporary, filepath.Base(name))
	copied := func(from, to string) error { return disk.Copy(ctx, from, to, 0o755) }
	ways := []func(from, to string) error{os.Symlink, os.Link, copied}
	if isTemporary(kx) {
		ways = ways[1:]
	}
	for _, way := range ways {
		if err = way(kx, made); err == nil {
			return os.Rename(made, name)
		}
	}
	return err
}

// isTemporary reports whether a program is in the directory for temporary files: go run removes its program at the end,
// so a link by name would lead nowhere.
func isTemporary(kx string) bool {
	temporary, err := filepath.EvalSymlinks(os.TempDir())
	return err == nil && strings.HasPrefix(kx, temporary+string(filepath.Separator))
}
