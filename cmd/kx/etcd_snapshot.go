package main

import (
	"context"

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
	cmd.AddCommand(newSnapshotSaveCommand(o), newSnapshotStatusCommand(), newSnapshotRestoreCommand())
	return cmd
}

func bytesProgress(cmd *cobra.Command, what string) *render.Progress {
	return render.NewProgress(cmd.ErrOrStderr(), func(done int64) string { return what + ": " + render.Bytes(done).String() })
}

// writeOne writes one value as a table of one row, or by itself.
func writeOne[T any](cmd *cobra.Command, format render.Format, value T, columns render.Columns[T]) error {
	if format != render.Table {
		return render.One(cmd.OutOrStdout(), format, value)
	}
	return render.All(cmd.OutOrStdout(), format, columns, value)
}

func newSnapshotSaveCommand(o *etcdOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "save FILE",
		Short: "Save all that a member has to a file",
		Long: `Save all that a member has to a file, which only its owner may read: it holds all secrets. The file appears when it is
complete and its checksum is verified.`,
		Example: "  kx etcd snapshot save backup.db",
		Args:    cobra.ExactArgs(1),
	}
	var format render.Format
	listFormatVar(cmd, &format)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
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
		Use:     "status FILE",
		Short:   "Check a snapshot from end to end and say what is in it",
		Example: "  kx etcd snapshot status backup.db\n  kx etcd snapshot status ~/.kx -o json      # of a kx that does not run",
		Args:    cobra.ExactArgs(1),
	}
	var format render.Format
	listFormatVar(cmd, &format)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		info, err := admin.SnapshotStatus(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return writeOne(cmd, format, info, render.Snapshots)
	}
	return cmd
}

// defaultBump is what etcd's own documentation raises a restored revision by: more than what a busy cluster writes in a week.
const defaultBump = 1_000_000_000

func newSnapshotRestoreCommand() *cobra.Command {
	r := admin.RestoreOptions{Bump: defaultBump}
	cmd := &cobra.Command{
		Use:   "restore FILE --to DIR",
		Short: "Make an etcd data directory of a snapshot",
		Long: `Make a data directory of a snapshot, for a new cluster: start kx or each etcd of it with its directory. For kx serve,
DIR is the directory etcd in the data directory.

The revision is raised by --bump, and earlier revisions are marked as compacted: otherwise clients that saw revisions
after the snapshot would take other objects for those they know. Their watches fail, and they list again. The etcd that
is started there has to be of version 3.6 or newer.`,
		Example: "  kx etcd snapshot restore backup.db --to ~/.kx/etcd && kx serve",
		Args:    cobra.ExactArgs(1),
	}
	var format render.Format
	listFormatVar(cmd, &format)
	cmd.Flags().StringVar(&r.Dir, "to", "", "the data directory to make")
	cmd.Flags().Int64Var(&r.Bump, "bump", r.Bump, "what to raise the revision by")
	_ = cmd.MarkFlagRequired("to")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.File = args[0]
		progress := bytesProgress(cmd, r.Dir)
		defer progress.Clear()
		restored, err := admin.Restore(cmd.Context(), r, progress.Add)
		if err != nil {
			return err
		}
		progress.Clear()
		return writeOne(cmd, format, restored, render.Restored)
	}
	return cmd
}
