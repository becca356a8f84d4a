package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/tui/draw"
)

type etcdSalvageOptions struct {
	admin.SalvageOptions
	output string
}

func newEtcdSalvageCommand() *cobra.Command {
	o := &etcdSalvageOptions{SalvageOptions: admin.SalvageOptions{Bump: defaultBump}}
	cmd := &cobra.Command{
		Use:   "salvage DIR --to NEW",
		Short: "Make a new data directory of what can be read of a damaged one",
		Long: `Make a new data directory of what can be read of a damaged one, and say what can't. DIR is the data directory of a kx or
etcd that does not run; it is only read. For kx serve NEW is the directory etcd in its data directory.

Read are the database, page by page, and the entries of the write-ahead log that are newer than the database and follow it
without a gap. As after a restore the revision is raised by --bump, and all before is marked as compacted: the clients of
before are told that theirs is too old, and list again.

It ends with 3 if something could not be read.`,
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
	outputVar(cmd, &o.output)
	cmd.Flags().StringVar(&o.Dir, "to", "", "the data directory to make")
	cmd.Flags().Int64Var(&o.Bump, "bump", o.Bump, "what to raise the revision by")
	_ = cmd.MarkFlagRequired("to")
	return cmd
}

func (o *etcdSalvageOptions) run(ctx context.Context, cmd *cobra.Command) error {
	format, err := listFormat(o.output)
	if err != nil {
		return err
	}
	salvaged, err := admin.Salvage(ctx, o.SalvageOptions)
	if err != nil {
		return err
	}
	if format == render.Table {
		showSalvaged(cmd.OutOrStdout(), salvaged)
	} else if err := render.One(cmd.OutOrStdout(), format, salvaged); err != nil {
		return err
	}
	if len(salvaged.Losses) > 0 {
		return &exitError{code: exitFound}
	}
	return nil
}

func showSalvaged(out io.Writer, s *admin.Salvaged) {
	fmt.Fprintf(out, "%s holds %s keys: the database up to revision %d, and %d entries of the log, up to revision %d\n",
		draw.Clean(s.Dir), render.Count(s.Keys), s.Database, s.Entries, s.Salvaged)
	fmt.Fprintf(out, "its revision is raised to %d\n", s.Revision)
	for _, loss := range s.Losses {
		fmt.Fprintf(out, "not read: %s\n", draw.Clean(loss.What))
		for _, key := range loss.Keys {
			fmt.Fprintf(out, "  %s\n", draw.Clean(key))
		}
	}
}
