package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/store/admin"
)

type etcdSalvageOptions struct {
	admin.SalvageOptions
	format render.Format
}

func newEtcdSalvageCommand() *cobra.Command {
	o := &etcdSalvageOptions{SalvageOptions: admin.SalvageOptions{Bump: defaultBump}}
	cmd := &cobra.Command{
		Use:   "salvage DIR --to NEW",
		Short: "Make a new data directory of what can be read of a damaged one",
		Long: `Make a new data directory of what can be read of a damaged one, and say what can't. DIR is the data directory of a kx or
etcd that does not run; it is only read. For kx serve, NEW is the directory etcd in the data directory.

It reads the database, page by page, and the entries of the write-ahead log that are newer than the database and follow
it without a gap. As after a restore, the revision is raised by --bump, and earlier revisions are marked as compacted:
clients that saw them get "too old" and list again.

The exit code is 3 if something could not be read.`,
		Example: `  kx etcd salvage ~/.kx --to ~/.kx/etcd-salvaged
  mv ~/.kx/etcd ~/.kx/etcd-damaged && mv ~/.kx/etcd-salvaged ~/.kx/etcd && kx serve`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.From = args[0]
			ctx, stop := untilInterrupted(cmd)
			defer stop()
			return o.run(ctx, cmd)
		},
	}
	listFormatVar(cmd, &o.format)
	cmd.Flags().StringVar(&o.Dir, "to", "", "the data directory to make")
	cmd.Flags().Int64Var(&o.Bump, "bump", o.Bump, "what to raise the revision by")
	_ = cmd.MarkFlagRequired("to")
	return cmd
}

func (o *etcdSalvageOptions) run(ctx context.Context, cmd *cobra.Command) error {
	salvaged, err := admin.Salvage(ctx, o.SalvageOptions)
	if err != nil {
		return err
	}
	if err := render.Salvage(cmd.OutOrStdout(), o.format, salvaged); err != nil {
		return err
	}
	if len(salvaged.Losses) > 0 {
		return &exitError{code: exitFound}
	}
	return nil
}
