package assets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"sigs.k8s.io/yaml"
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
func (a *Archive) Write(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	file := filepath.Join(dir, a.Name())
	hash, err := a.write(file)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", file, err)
	}
	if err := a.enter(filepath.Join(dir, IndexName), hash); err != nil {
		return "", err
	}
	return file, nil
}

// write writes the archive and returns its hash.
func (a *Archive) write(file string) (hash string, err error) {
	temporary, err := os.CreateTemp(filepath.Dir(file), ".archive-")
	if err != nil {
		return "", err
	}
	defer os.Remove(temporary.Name()) // fails once it is renamed
	sum := sha512.New()
	packed := gzip.NewWriter(io.MultiWriter(temporary, sum))
	all := tar.NewWriter(packed)
	err = a.pack(all)
	err = errors.Join(err, all.Close(), packed.Close(), temporary.Chmod(0o644), temporary.Close())
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), os.Rename(temporary.Name(), file)
}

// pack adds kx as kube-apiserver, and scripts that call it by the other names: three copies would make the archive
// three times as large, and what unpacks it skips links. Windows has no such scripts, so it gets copies.
func (a *Archive) pack(all *tar.Writer) error {
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
		if _, err := io.Copy(all, bytes.NewReader(content)); err != nil {
			return err
		}
	}
	return nil
}

// enter adds the archive to the index, or replaces its entry.
func (a *Archive) enter(file, hash string) error {
	lock, err := fileutil.LockFile(file+".lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("lock %s: %w", file, err)
	}
	defer lock.Close()
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
	if err := os.WriteFile(file+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
