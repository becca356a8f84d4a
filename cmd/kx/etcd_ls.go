package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/store/admin"
)

type etcdLsOptions struct {
	*etcdOptions
	format   render.Format
	depth    int
	revision string
	keysOnly bool
}

func newEtcdLsCommand(etcd *etcdOptions) *cobra.Command {
	o := &etcdLsOptions{etcdOptions: etcd, depth: 2}
	cmd := &cobra.Command{
		Use:   "ls [PREFIX]",
		Short: "Show the keys as a tree, with counts and bytes",
		Long: `Show the keys as a tree, with how many there are and how many bytes their values have.

REVISION is that of the newest change below. Below the first level a directory names its first 100 keys.`,
		Example: `  kx etcd ls                                  # what there is
  kx etcd ls pods                             # namespaces and pods
  kx etcd ls configmaps/default -o json       # for a script
  kx etcd ls --depth 3 --keys-only            # deeper, and without reading values
  kx etcd ls --file snapshot.db               # of a snapshot`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: o.completeKeys(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.read(cmd, func(ctx context.Context, r *reader) error { return o.run(ctx, r, args) })
		},
	}
	fs := cmd.Flags()
	fs.IntVar(&o.depth, "depth", o.depth, "how many levels to show")
	fs.StringVar(&o.revision, "rev", "", "as it was at this revision; -100 is a hundred before now")
	fs.BoolVar(&o.keysOnly, "keys-only", false, "count keys and read no values: there are no bytes then")
	listFormatVar(cmd, &o.format)
	return cmd
}

func (o *etcdLsOptions) run(ctx context.Context, r *reader, args []string) error {
	if o.depth < 1 {
		return fmt.Errorf("--depth %d: a tree has at least one level", o.depth)
	}
	revision, err := r.revision(ctx, o.revision)
	if err != nil {
		return err
	}
	list := render.NewList(r.out, o.format, render.Tree(o.keysOnly))
	progress := r.keysProgress()
	defer progress.Clear()
	path := o.pathOf(args)
	total, err := admin.Tree(ctx, countingSource{r.Source, progress}, path, o.depth,
		admin.Range{Revision: revision, KeysOnly: o.keysOnly}, func(n admin.Node) error {
			progress.Clear()
			return list.Add(n)
		})
	if err != nil {
		return err
	}
	if total.Keys == 0 && path == "" {
		return fmt.Errorf("%s: there are no keys in it", r.Name())
	}
	if total.Keys == 0 {
		return fmt.Errorf("%s: there are no keys at %q", r.Name(), path)
	}
	if o.format == render.Table {
		total.Path, total.Depth = "total", 0
		if err := list.Add(total); err != nil {
			return err
		}
	}
	return list.Close()
}
