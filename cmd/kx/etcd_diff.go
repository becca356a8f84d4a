package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/store/admin"
)

type etcdDiffOptions struct {
	*etcdOptions
	format render.Format
}

func newEtcdDiffCommand(etcd *etcdOptions) *cobra.Command {
	o := &etcdDiffOptions{etcdOptions: etcd}
	cmd := &cobra.Command{
		Use:   "diff REV1 REV2 [PREFIX]",
		Short: "Show what is different between two revisions",
		Long: `Show the keys whose values are not the same at two revisions, and how they differ. Revision 0 is the present one. A
negative number counts back from it; write it after --, or it is taken for a flag. The exit code is 3 if there are
differences.`,
		Example: `  kx etcd diff 1200 1300
  kx etcd diff 1200 0 deployments/default
  kx etcd diff -o json 1200 1300 | jq .[].key
  kx etcd diff -- -50 0 pods`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.read(cmd, func(ctx context.Context, r *reader) error { return o.run(ctx, r, args) })
		},
	}
	listFormatVar(cmd, &o.format)
	return cmd
}

func (o *etcdDiffOptions) run(ctx context.Context, r *reader, args []string) error {
	colored, err := render.WantsColour(o.color, r.out)
	if err != nil {
		return err
	}
	head, err := r.Head(ctx)
	if err != nil {
		return err
	}
	var revisions [2]int64
	for i, arg := range args[:2] {
		if arg == "0" {
			arg = "-0"
		}
		if revisions[i], err = admin.ParseRevision(arg, head); err != nil {
			return err
		}
	}
	list := render.NewDifferences(r.out, o.format, r.decoder, colored)
	found := false
	for d, err := range admin.Diff(ctx, r, o.pathOf(args[2:]), revisions[0], revisions[1]) {
		if err == nil {
			err = list.Add(d)
		}
		if err != nil {
			return err
		}
		found = true
	}
	if err := list.Close(); err != nil || !found {
		return err
	}
	return &exitError{code: exitFound}
}
