package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	serverbackup "github.com/kx-apiserver/kx/server/backup"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/backup"
	"github.com/kx-apiserver/kx/tui/disk"
)

// origin says whose data a server begins with.
type origin struct {
	// from is the data directory of a kx, or an archive; empty for none.
	from string
}

// check refuses an origin that the options exclude. given reports whether --from was given. An empty one, as of an
// unset variable, would make an empty server.
func (f *origin) check(o *options.Options, given bool) error {
	switch {
	case !given:
		return nil
	case f.from == "":
		return errors.New("--from is empty: give the data directory of a kx, or an archive of kx etcd snapshot save --archive")
	case !o.Ephemeral:
		return errors.New("--from copies into a temporary directory: add --ephemeral, or make a directory that stays with " +
			"kx etcd snapshot restore")
	case len(o.Etcd.Servers) > 0:
		return errors.New("--from fills the etcd inside, and --etcd-servers names another: leave out one of them")
	}
	return nil
}

// archiveName is the name of the archive of a kx that runs, while it is copied.
const archiveName = "from.tar"

// copy fills the data directory of a server that has not started.
func (f *origin) copy(cmd *cobra.Command, dir string) error {
	if f.from == "" {
		return nil
	}
	ctx, stop := untilInterrupted(cmd)
	defer stop()
	path := f.from
	if info, err := os.Stat(path); err != nil {
		return fmt.Errorf("--from: %w: give the data directory of a kx, or an archive of kx etcd snapshot save --archive", err)
	} else if info.IsDir() {
		if found, err := copyStopped(ctx, path, dir); found || err != nil {
			return err
		}
		path = filepath.Join(dir, archiveName)
		if err := f.save(ctx, cmd, path); err != nil {
			return fmt.Errorf("--from: %w", err)
		}
		defer os.Remove(path)
	}
	archive, err := backup.Open(ctx, path)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	defer archive.Close()
	_, err = archive.Restore(ctx, backup.RestoreOptions{
		Dir: dir, Ignore: []string{archiveName, identity.LockName}, History: true, Here: serverbackup.ProgramVersion(),
	}, nil)
	return err
}

// save writes an archive of a kx that runs.
func (f *origin) save(ctx context.Context, cmd *cobra.Command, path string) error {
	o := newEtcdOptions()
	o.dataDir = f.from
	save, err := o.archiveSave(cmd)
	if err != nil {
		return err
	}
	return o.ask(cmd, func(_ context.Context, live *admin.Live) error {
		save.Live = live
		_, err := save.File(ctx, path)
		return err
	})
}

// copyStopped copies the data directory of a kx that has ended, in good order or not. It reports false if a kx runs
// there, or if the directory has no etcd.
func copyStopped(ctx context.Context, from, to string) (bool, error) {
	if info, err := os.Stat(filepath.Join(from, "etcd")); err != nil || !info.IsDir() {
		return false, nil
	}
	lock, err := identity.OpenDataDir(from)
	if errors.Is(err, identity.ErrInUse) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("--from: %w", err)
	}
	err = copyTree(ctx, from, to, nil)
	if err = errors.Join(err, lock.Close()); err != nil {
		return false, fmt.Errorf("--from: copy the data directory: %w", err)
	}
	return true, nil
}

// copyTree copies the files of a directory to another one. It follows links: the directory itself may be one, and so
// may its etcd, if that is on another disk. above lists the directories that contain it: a link to one of them is an
// error.
func copyTree(ctx context.Context, from, to string, above []string) error {
	resolved, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	if slices.Contains(above, resolved) {
		return fmt.Errorf("%s leads to %s, which contains it", from, resolved)
	}
	entries, err := os.ReadDir(resolved)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		source, target := filepath.Join(resolved, entry.Name()), filepath.Join(to, entry.Name())
		info, err := os.Stat(source)
		switch {
		case err == nil && info.IsDir():
			if err = os.MkdirAll(target, 0o700); err == nil {
				err = copyTree(ctx, source, target, append(slices.Clone(above), resolved))
			}
		case err == nil && info.Mode().IsRegular() && (len(above) > 0 || entry.Name() != identity.LockName):
			err = disk.Copy(ctx, source, target, info.Mode().Perm())
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}
