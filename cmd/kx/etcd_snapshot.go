package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/store/admin"
)

func newEtcdSnapshotCommand(o *etcdOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Save, check and restore snapshots",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSnapshotSaveCommand(o), newSnapshotStatusCommand(), newSnapshotRestoreCommand(o))
	return cmd
}

func bytesProgress(cmd *cobra.Command, what string) *render.Progress {
	return render.NewProgress(cmd.ErrOrStderr(), func(done int64) string { return what + ": " + render.Bytes(done).String() })
}

// writeOne writes one value: as a table with one row, or as a document.
func writeOne[T any](cmd *cobra.Command, format render.Format, value T, columns render.Columns[T]) error {
	if format != render.Table {
		return render.WriteOne(cmd.OutOrStdout(), format, value)
	}
	return render.All(cmd.OutOrStdout(), format, columns, value)
}

func newSnapshotSaveCommand(o *etcdOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "save {FILE | --archive FILE}",
		Short: "Save all that a member has to a file, or all that a server needs to serve it again",
		Long: `Save all that a member has to a file, which only its owner may read: it holds all secrets. The file appears when it is
complete and its checksum is verified.

With --archive the file is a tar file that also holds what clients and tokens believe the server by: the authority, the key
that signs tokens, the kubeconfig, and the files of these kinds that flags of kx serve name. It appears when it was read
back and is on the disk. The keys of an encryption configuration are not in it, only their names: keep them elsewhere. With
--endpoints it holds no files of a server. FILE - is standard output, where nothing can be read back.`,
		Example: `  kx etcd snapshot save backup.db
  kx etcd snapshot save --archive backup.tar
  kx etcd snapshot save --archive - | ssh elsewhere 'cat > backup.tar'`,
		Args: cobra.MaximumNArgs(1),
	}
	var format render.Format
	var archive string
	listFormatVar(cmd, &format)
	cmd.Flags().StringVar(&archive, "archive", "", "file to save an archive to, or -")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case (archive == "") == (len(args) == 0):
			return errors.New("save where? Give a FILE for a snapshot, or --archive FILE for an archive")
		case archive != "":
			return o.saveArchive(cmd, format, archive)
		}
		return o.ask(cmd, func(ctx context.Context, live *admin.Live) error {
			progress := bytesProgress(cmd, args[0])
			defer progress.Clear()
			info, err := live.SaveSnapshot(ctx, args[0], progress.Add)
			if err != nil {
				return err
			}
			progress.Clear()
			return writeOne(cmd, format, info, render.Snapshots)
		})
	}
	return cmd
}

func newSnapshotStatusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status FILE",
		Short: "Check a snapshot or an archive from end to end and say what is in it",
		Example: `  kx etcd snapshot status backup.tar
  kx etcd snapshot status backup.db
  kx etcd snapshot status ~/.kx -o json      # of a kx that does not run`,
		Args: cobra.ExactArgs(1),
	}
	var format render.Format
	listFormatVar(cmd, &format)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if archive, err := isArchive(args[0]); err != nil {
			return err
		} else if archive {
			return archiveStatus(cmd, format, args[0])
		}
		info, err := admin.SnapshotStatus(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return writeOne(cmd, format, info, render.Snapshots)
	}
	return cmd
}

// defaultBump is the increase of a restored revision that etcd's documentation recommends: a busy cluster writes less
// in a week.
const defaultBump = 1_000_000_000

func newSnapshotRestoreCommand(o *etcdOptions) *cobra.Command {
	r := &restoreOptions{etcdOptions: o, bump: defaultBump}
	cmd := &cobra.Command{
		Use:   "restore FILE --to DIR",
		Short: "Make a data directory of a snapshot or an archive",
		Long: `Make a data directory of a snapshot or an archive. DIR is missing or empty. FILE is verified before anything is
written, and a restore that fails leaves nothing.

Of an archive, DIR becomes the data directory of kx serve, with its keys and its etcd. Of a snapshot, DIR becomes the data
directory of an etcd: start kx or each etcd of a new cluster with its directory. For kx serve that is the directory etcd in
the data directory.

The revision is raised by --bump, and earlier revisions are marked as compacted: otherwise clients that saw revisions
after the snapshot would take other objects for those they know. Their watches fail, and they list again. The etcd that
is started there has to be of version 3.6 or newer.

If values are encrypted, their keys are named. With --encryption-provider-config each of these values is decrypted, and
only the keys that are not in that configuration are named.

The members of a cluster outside kx are restored with etcdutl: for --endpoints, and for the archive of such a cluster, this
prints the steps.`,
		Example: `  kx etcd snapshot restore backup.tar --to restored && kx serve --data-dir restored
  kx etcd snapshot restore backup.db --to ~/.kx/etcd && kx serve`,
		Args: cobra.ExactArgs(1),
	}
	listFormatVar(cmd, &r.format)
	cmd.Flags().StringVar(&r.dir, "to", "", "the data directory to make")
	cmd.Flags().Int64Var(&r.bump, "bump", r.bump, "what to raise the revision by")
	_ = cmd.MarkFlagRequired("to")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return r.run(cmd, args[0]) }
	return cmd
}
