package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kx-apiserver/kx/store/datadir"
)

// prepareDir makes the directory and checks, before etcd opens it, what etcd itself would wait for or die of.
func prepareDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the data directory: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return fmt.Errorf("cannot write to the data directory: %w", err)
	}
	err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	if err != nil {
		return fmt.Errorf("cannot write to the data directory: %w", err)
	}
	state, err := datadir.Check(dir)
	switch damage := (*datadir.Damage)(nil); {
	case errors.Is(err, datadir.ErrInUse):
		return fmt.Errorf("the data directory %s is in use by another process: stop that one, or use another directory", dir)
	case errors.As(err, &damage):
		return fmt.Errorf("%w", damage)
	case err != nil:
		return fmt.Errorf("cannot read the data directory: %w", err)
	}
	for _, version := range []string{state.Database.StorageVersion, state.Database.ClusterVersion} {
		if err := datadir.CheckVersion(version); err != nil {
			return fmt.Errorf("the data directory %s cannot be used: %w, or restore a backup to another directory", dir, err)
		}
	}
	if state.HasLog && state.Database.Members == 0 && state.Last == 0 && state.Commit == 0 {
		// A first start was stopped before it had written down that it is a cluster of one. etcd would wait for a
		// leader forever. Nothing was ever acknowledged here, so etcd may begin the log anew. The database stays: a
		// restore may have filled it.
		if err := os.RemoveAll(datadir.LogPath(dir)); err != nil {
			return fmt.Errorf("remove the log that an interrupted first start left: %w", err)
		}
	}
	return nil
}

// keepToOwner takes all rights on etcd's files from the group and others. etcd itself leaves its snapshots readable for
// everybody, as far as the umask does; their directory is not. A failure does not end what etcd does: it is only
// logged.
func (c *Config) keepToOwner() {
	err := filepath.WalkDir(c.Dir, func(path string, d fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil && d.Type().IsRegular() {
			info, err = d.Info()
		}
		if info != nil && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(path, info.Mode().Perm()&0o700)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // etcd removes old files meanwhile
		}
		return err
	})
	if err != nil {
		c.log().Warn("other users may be able to read files of etcd", "error", err)
	}
}

// explain returns what is damaged in a directory on which etcd did not start, if that is the reason.
func explain(dir string, err error) error {
	if damage := datadir.Explain(dir); damage != nil {
		return fmt.Errorf("%w (etcd says: %v)", damage, err)
	}
	return err
}

// damageError explains the error of a start that etcd would have ended the process for. Without a known cause in the
// directory it returns etcd's error.
func damageError(dir string, err error) error {
	explained := explain(dir, err)
	if explained != err {
		return explained
	}
	return fmt.Errorf("start in %s: %w", dir, err)
}
