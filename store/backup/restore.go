package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/datadir/durable"
)

// RestoreOptions say where an archive is restored.
type RestoreOptions struct {
	// Dir is the data directory to make. It must be missing, or hold only entries that Ignore names.
	Dir    string
	Ignore []string
	// Bump is added to etcd's revision. History keeps etcd's revision and history as they are, without a Bump.
	Bump    int64
	History bool
	// Here is the version of this program. An archive of a newer one is refused, because this one may not read it.
	Here Version
}

// stage is the directory below Dir in which a restore makes the content. Both are in one file system, so that a rename
// publishes it.
const stage = ".restoring"

// Restore makes the data directory of a server. A restore that fails removes what it wrote, but not a directory that it
// made.
func (a *Archive) Restore(ctx context.Context, o RestoreOptions, progress func(bytes int)) (_ *admin.RestoreResult, err error) {
	if err := a.Manifest.checkVersion(o.Here); err != nil {
		return nil, fmt.Errorf("%s: %w: use that kx, or a newer one", a.path, err)
	}
	if err := CheckEmpty(o.Dir, o.Ignore...); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	staging := filepath.Join(o.Dir, stage)
	defer func() { err = errors.Join(err, os.RemoveAll(staging)) }()
	for _, name := range a.Parts() {
		if err := a.unpack(name, staging); err != nil {
			return nil, fmt.Errorf("restore %s to %s: %w", a.path, o.Dir, err)
		}
	}
	snapshot := a.part(snapshotName)
	in := io.NewSectionReader(&interruptible{ctx, a.file}, snapshot.offset, snapshot.size)
	etcd := admin.RestoreOptions{Dir: filepath.Join(staging, "etcd"), Bump: o.Bump, History: o.History}
	restored, err := admin.RestoreDatabase(ctx, a.path, in, a.contents, etcd, progress)
	if err != nil {
		return nil, err
	}
	restored.Dir = o.Dir
	return restored, publish(staging, o.Dir)
}

// unpack writes one part below dir, under the part's name.
func (a *Archive) unpack(name, dir string) error {
	data, err := a.small(a.part(name))
	if err != nil {
		return err
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// publish moves the finished files into their place, etcd first: if the machine stops between two moves, a server that
// starts must not begin with an empty etcd.
func publish(from, to string) error {
	// Otherwise the disk may have a directory that was moved, and not yet what is in it.
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return durable.SyncDir(path)
	})
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	slices.SortStableFunc(entries, func(a, b os.DirEntry) int {
		switch {
		case a.Name() == "etcd":
			return -1
		case b.Name() == "etcd":
			return 1
		}
		return strings.Compare(a.Name(), b.Name())
	})
	var moved []string
	for _, entry := range entries {
		path := filepath.Join(to, entry.Name())
		if err := os.Rename(filepath.Join(from, entry.Name()), path); err != nil {
			for _, path := range moved {
				err = errors.Join(err, os.RemoveAll(path))
			}
			return err
		}
		moved = append(moved, path)
	}
	return durable.SyncDir(to)
}

// CheckEmpty refuses a directory with entries other than the ignored ones.
func CheckEmpty(dir string, ignored ...string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, entry := range entries {
		if !slices.Contains(ignored, entry.Name()) {
			return fmt.Errorf("%s is not empty: a restore makes a new directory, so give --to another name", dir)
		}
	}
	return nil
}
