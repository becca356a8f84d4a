package assets

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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
func Directory(parent, release, kx string) (string, error) {
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
		if err := place(kx, made); err != nil {
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
func place(kx, name string) error {
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	temporary, err := os.MkdirTemp(filepath.Dir(name), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	made := filepath.Join(temporary, filepath.Base(name))
	ways := []func(from, to string) error{os.Symlink, os.Link, copyFile}
	if passing(kx) {
		ways = ways[1:]
	}
	for _, way := range ways {
		if err = way(kx, made); err == nil {
			return os.Rename(made, name)
		}
	}
	return err
}

// passing reports whether a program is in the directory for temporary files: go run removes its program at the end, so
// a link by name would lead nowhere.
func passing(kx string) bool {
	temporary, err := filepath.EvalSymlinks(os.TempDir())
	return err == nil && strings.HasPrefix(kx, temporary+string(filepath.Separator))
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
