package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/store/admin"
)

type etcdHistoryOptions struct {
	*etcdOptions
	format render.Format
	diff   bool
}

func newEtcdHistoryCommand(etcd *etcdOptions) *cobra.Command {
	o := &etcdHistoryOptions{etcdOptions: etcd}
	cmd := &cobra.Command{
		Use:   "history KEY",
		Short: "Show every revision of a key that etcd still has, and who wrote it",
		Long: `Show every revision of a key that etcd still has, oldest first: what was done, when, the value's size, and by whom.

The author and the time come from the managed fields that changed since the revision before. For the first revision
shown they come from the latest entry. API servers compact etcd every few minutes, so history is short unless
--etcd-compaction-interval says otherwise.`,
		Example: `  kx etcd history deployments/default/web
  kx etcd history deployments/default/web --diff     # and what each changed
  kx etcd history leases/kube-system/x -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: o.completeKeys(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.read(cmd, func(ctx context.Context, r *reader) error { return o.run(ctx, r, o.path(args[0])) })
		},
	}
	cmd.Flags().BoolVar(&o.diff, "diff", false, "show what each revision changed")
	listFormatVar(cmd, &o.format)
	return cmd
}

func (o *etcdHistoryOptions) run(ctx context.Context, r *reader, key string) error {
	colored, err := render.WantsColour(o.color, r.out)
	if err != nil {
		return err
	}
	list := render.NewList(r.out, o.format, render.Changes)
	found := false
	var before []byte
	for c, err := range admin.History(ctx, r, r.decoder, key) {
		switch {
		case err != nil:
		case o.diff && o.format == render.Table:
			before, err = render.History(r.out, c, before, colored)
		default:
			err = list.Add(c)
		}
		if err != nil {
			return err
		}
		found = true
	}
	if !found {
		return fmt.Errorf("%s: there is no key %s, and none in the history that is left", r.Name(), key)
	}
	return list.Close()
}
