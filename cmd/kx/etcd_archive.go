package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	serverbackup "github.com/kx-apiserver/kx/server/backup"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/backup"
)

// saveArchive saves the etcd that the flags select, with the files of the server over the data directory.
func (o *etcdOptions) saveArchive(cmd *cobra.Command, format render.Format, file string) error {
	toOut := file == "-"
	if toOut && render.IsTerminal(cmd.OutOrStdout()) {
		return errors.New("an archive is nothing to look at: name a file, or send standard output to one")
	}
	save, err := o.archiveSave(cmd)
	if err != nil {
		return err
	}
	return o.ask(cmd, func(ctx context.Context, live *admin.Live) error {
		progress := bytesProgress(cmd, file)
		defer progress.Clear()
		save.Live, save.Progress = live, progress.Add
		if toOut {
			saved, err := save.Stream(ctx, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			progress.Clear()
			return tellStreamed(cmd, saved)
		}
		saved, err := save.File(ctx, file)
		if err != nil {
			return err
		}
		progress.Clear()
		return writeOne(cmd, format, saved, render.Archives)
	})
}

// tellStreamed reports on stderr what was verified of an archive on standard output.
func tellStreamed(cmd *cobra.Command, saved *backup.Summary) error {
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s: about %s keys of revision %d or later. "+
		"Verified: the SHA-256 that etcd sent, and its length. Not verified: what was written could not be read back. "+
		"Check the file with kx etcd snapshot status.\n",
		render.Bytes(saved.Size), render.Count(saved.Manifest.Etcd.Keys), saved.Manifest.Etcd.Revision)
	return err
}

// archiveSave returns the contents of an archive. If the server's etcd runs elsewhere, it sets the endpoint to that.
func (o *etcdOptions) archiveSave(cmd *cobra.Command) (*backup.Save, error) {
	if len(o.endpoint.URLs) > 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "--endpoints names an etcd alone: the archive has no keys and certificates of a server")
		m := backup.Manifest{KX: serverbackup.ProgramVersion(), Prefix: o.keyPrefix(), Etcd: backup.Etcd{Servers: o.endpoint.URLs}}
		return &backup.Save{Describe: m}, nil
	}
	if _, runs := identity.InUse(o.dataDir); !runs {
		return nil, fmt.Errorf("no kx runs on %s: start kx serve, or name another with --data-dir or --endpoints", o.dataDir)
	}
	record, err := serverbackup.ReadRecord(o.dataDir)
	if err != nil {
		return nil, err
	}
	if record.Etcd != nil {
		o.endpoint = *record.Etcd
	}
	parts, err := record.Parts(o.dataDir)
	return &backup.Save{Parts: parts, Describe: record.Describe()}, err
}

// isArchive is backup.Is for a file. It returns false for a directory.
func isArchive(path string) (bool, error) {
	found, err := admin.FindDatabase(path)
	if err != nil {
		return false, err
	}
	return backup.Is(found)
}

func archiveStatus(cmd *cobra.Command, format render.Format, path string) error {
	ctx, stop := untilInterrupted(cmd)
	defer stop()
	archive, err := backup.Open(ctx, path)
	if err != nil {
		return err
	}
	defer archive.Close()
	return writeOne(cmd, format, archive.Summary(), render.Archives)
}

// restoreOptions are the flags of a restore.
type restoreOptions struct {
	*etcdOptions
	format render.Format
	dir    string
	bump   int64
}

func (o *restoreOptions) run(cmd *cobra.Command, file string) error {
	ctx, stop := untilInterrupted(cmd)
	defer stop()
	if len(o.endpoint.URLs) > 0 {
		return useEtcdutl(file, o.bump)
	}
	archive, err := isArchive(file)
	if err != nil {
		return err
	}
	decoder, err := o.decoder() // before anything is written
	if err != nil {
		return err
	}
	defer decoder.Encryption.Close()
	progress := bytesProgress(cmd, o.dir)
	defer progress.Clear()
	var report *render.Restore
	if archive {
		report, err = o.fromArchive(ctx, file, progress.Add)
	} else {
		report, err = o.fromSnapshot(ctx, file, progress.Add)
	}
	if err != nil {
		return err
	}
	if report.Missing, err = o.missing(ctx, decoder, report.RestoreResult); err != nil {
		return err
	}
	progress.Clear()
	if o.format != render.Table {
		return render.WriteOne(cmd.OutOrStdout(), o.format, report)
	}
	return report.Write(cmd.OutOrStdout())
}

// useEtcdutl refuses to restore a cluster outside kx, whose members restore their own directories.
func useEtcdutl(file string, bump int64) error {
	return fmt.Errorf(`%s can't be restored into a running cluster: each of its members needs a new data directory, made with etcdutl:
  1. Stop all API servers and all members of the cluster.
  2. Take the snapshot out of an archive:   tar xf %[1]s etcd/snapshot.db
  3. On the machine of each member:         etcdutl snapshot restore etcd/snapshot.db --data-dir NEW --name NAME \
                                              --initial-advertise-peer-urls URL --initial-cluster NAME=URL,... \
                                              --bump-revision %[2]d --mark-compacted
  4. Start each member with --data-dir NEW, then the API servers.
To serve it from the etcd in kx instead: kx etcd snapshot restore etcd/snapshot.db --to DIR/etcd`, file, bump)
}

// fromSnapshot makes the data directory of an etcd.
func (o *restoreOptions) fromSnapshot(ctx context.Context, file string, progress func(int)) (*render.Restore, error) {
	if o.dir != "" {
		if err := notInUse(filepath.Dir(filepath.Clean(o.dir))); err != nil {
			return nil, err
		}
	}
	restored, err := admin.Restore(ctx, admin.RestoreOptions{File: file, Dir: o.dir, Bump: o.bump}, progress)
	if err != nil {
		return nil, err
	}
	return &render.Restore{RestoreResult: restored}, nil
}

// fromArchive makes the data directory of a server.
func (o *restoreOptions) fromArchive(ctx context.Context, file string, progress func(int)) (*render.Restore, error) {
	if o.dir == "" {
		return nil, errors.New("no directory to make was given: its name is empty")
	}
	dir := filepath.Clean(o.dir)
	if filepath.Base(dir) == "etcd" {
		return nil, fmt.Errorf("%s is an archive of a whole data directory: give --to that directory, such as %s, and not the etcd in it",
			file, filepath.Dir(dir))
	}
	if err := notInUse(dir); err != nil {
		return nil, err
	}
	if err := backup.CheckEmpty(dir, identity.LockName); err != nil {
		return nil, err
	}
	archive, err := backup.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	if archive.Manifest.External() {
		return nil, useEtcdutl(file, o.bump)
	}
	// The lock keeps a server from starting here meanwhile.
	lock, err := identity.OpenDataDir(dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	restored, err := archive.Restore(ctx, backup.RestoreOptions{
		Dir: dir, Ignore: []string{identity.LockName}, Bump: o.bump, Here: serverbackup.ProgramVersion(),
	}, progress)
	if err != nil {
		return nil, err
	}
	return &render.Restore{RestoreResult: restored, Parts: archive.Parts(), Serve: serverbackup.Words(dir, archive)}, nil
}

func notInUse(dir string) error {
	if owner, used := identity.InUse(dir); used {
		return fmt.Errorf("a kx runs on %s (process %d): stop it, and give --to a new directory", dir, owner.PID)
	}
	return nil
}

// missing returns the encryption keys that values need: all of them, or those that the configuration of the flag
// lacks.
func (o *restoreOptions) missing(ctx context.Context, decoder *admin.Decoder, r *admin.RestoreResult) ([]admin.NeededKey, error) {
	if o.encryption == "" || len(r.Encryption) == 0 {
		return r.Encryption, nil
	}
	file, err := admin.OpenFile(r.Dir)
	if err != nil {
		return nil, err
	}
	all, err := admin.Encryptions(ctx, file, decoder, "", nil)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	var missing []admin.NeededKey
	for _, by := range all {
		if by.Unreadable > 0 {
			missing = append(missing, admin.NeededKey{Provider: by.Provider, Key: by.Key, Values: by.Unreadable})
		}
	}
	return missing, nil
}
