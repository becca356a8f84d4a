package assets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/trace"
)

// IndexName is the name of the index beside the archives.
const IndexName = "envtest-releases.yaml"

// Archive describes an archive of a kx.
type Archive struct {
	// KX is the path of the kx.
	KX string
	// Version is the version of Kubernetes that it serves, such as v1.37.2.
	Version string
	// OS and Arch name its platform in the words of Go.
	OS, Arch string
	// URL is the directory from which archives can be downloaded.
	URL string
}

// kxPath begins the path of kx's command, also in a test of it.
const kxPath = trace.Module + "cmd/kx"

// Platform returns the system and the architecture that a kx was built for.
func Platform(kx string) (goos, arch string, err error) {
	if info, err := os.Stat(kx); err != nil {
		return "", "", err
	} else if !info.Mode().IsRegular() {
		return "", "", fmt.Errorf("%s is no file: name the file of a kx", kx) // a pipe might never have a writer
	}
	build, err := buildinfo.ReadFile(kx)
	if err != nil || !strings.HasPrefix(build.Path, kxPath) {
		return "", "", fmt.Errorf("%s is no kx: name the file of one", kx)
	}
	for _, setting := range build.Settings {
		switch setting.Key {
		case "GOOS":
			goos = setting.Value
		case "GOARCH":
			arch = setting.Value
		}
	}
	return goos, arch, nil
}

// index lists archives by version and name.
type index struct {
	Releases map[string]map[string]entry `json:"releases"`
}

type entry struct {
	Hash     string `json:"hash"`
	SelfLink string `json:"selfLink"`
}

// Name returns the name of the archive's file.
func (a *Archive) Name() string {
	return fmt.Sprintf("envtest-%s-%s-%s.tar.gz", a.Version, a.OS, a.Arch)
}

// Write writes the archive to dir and enters it into the index there. It returns the path of the archive.
func (a *Archive) Write(ctx context.Context, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(dir, a.Name())
	temporary, hash, err := a.write(ctx, dir)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", file, err)
	}
	defer os.Remove(temporary) // fails once it is renamed
	// Of two archives of one name, the index must have the hash of the one that stays.
	index := filepath.Join(dir, IndexName)
	lock, err := lock(ctx, index+".lock")
	if err != nil {
		return "", fmt.Errorf("lock %s: %w", index, err)
	}
	defer lock.Close()
	entered := index + ".new"
	defer os.Remove(entered) // likewise
	if err := a.enter(index, entered, hash); err != nil {
		return "", err
	}
	if err := os.Rename(temporary, file); err != nil {
		return "", err
	}
	return file, os.Rename(entered, index)
}

// lockPause is the time between attempts to lock the index.
const lockPause = 10 * time.Millisecond

// lock waits until no other process holds the lock of a file.
func lock(ctx context.Context, name string) (*fileutil.LockedFile, error) {
	for {
		f, err := fileutil.TryLockFile(name, os.O_RDWR|os.O_CREATE, 0o644)
		if !errors.Is(err, fileutil.ErrLocked) {
			return f, err
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// reader is a reader that fails once ctx is done.
type reader struct {
	io.Reader
	ctx context.Context
}

func (r reader) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// write writes the archive to a new file in dir, and returns its hash.
func (a *Archive) write(ctx context.Context, dir string) (temporary, hash string, err error) {
	f, err := os.CreateTemp(dir, ".archive-")
	if err != nil {
		return "", "", err
	}
	sum := sha512.New()
	packed := gzip.NewWriter(io.MultiWriter(f, sum))
	all := tar.NewWriter(packed)
	err = a.pack(ctx, all)
	if err == nil {
		err = errors.Join(all.Close(), packed.Close(), f.Chmod(0o644))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return "", "", err
	}
	return f.Name(), hex.EncodeToString(sum.Sum(nil)), nil
}

// pack adds kx as kube-apiserver, and scripts that call it by the other names: three copies would make the archive
// three times as large, and what unpacks it skips links. Windows has no such scripts, so it gets copies.
func (a *Archive) pack(ctx context.Context, all *tar.Writer) error {
	kx, err := os.ReadFile(a.KX)
	if err != nil {
		return err
	}
	for _, name := range names {
		content := kx
		if name != APIServer && a.OS != "windows" {
			content = fmt.Appendf(nil, "#!/bin/sh\n"+CalledVariable+`=%s exec "$(dirname "$0")/%s" "$@"`+"\n", name, APIServer)
		}
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: "controller-tools/envtest/" + name + suffix(a.OS), Mode: 0o755, Size: int64(len(content)),
		}
		if err := all.WriteHeader(header); err != nil {
			return err
		}
		if _, err := io.Copy(all, reader{bytes.NewReader(content), ctx}); err != nil {
			return err
		}
	}
	return nil
}

// enter writes an index to a new file, with the archive as an entry.
func (a *Archive) enter(file, to, hash string) error {
	var all index
	data, err := os.ReadFile(file)
	if err == nil {
		err = yaml.UnmarshalStrict(data, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the index %s: %w", file, err)
	}
	if all.Releases == nil {
		all.Releases = map[string]map[string]entry{}
	}
	if all.Releases[a.Version] == nil {
		all.Releases[a.Version] = map[string]entry{}
	}
	all.Releases[a.Version][a.Name()] = entry{Hash: hash, SelfLink: strings.TrimSuffix(a.URL, "/") + "/" + a.Name()}
	if data, err = yaml.Marshal(all); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}
