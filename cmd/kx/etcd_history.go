package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/store/admin"
)

type etcdHistoryOptions struct {
	*etcdOptions
	output string
	diff   bool
}

func newEtcdHistoryCommand(etcd *etcdOptions) *cobra.Command {
	o := &etcdHistoryOptions{etcdOptions: etcd}
	cmd := &cobra.Command{
		Use:   "history KEY",
		Short: "Show every revision of a key that etcd still has, and who wrote it",
		Long: `Show every revision of a key that etcd still has, oldest first: what was done, when, the value's size, and by whom.

Who and when are what the object's managed fields say changed since the revision before; of the first that is shown, the
latest. API servers compact etcd every few minutes, so history is short unless --etcd-compaction-interval says otherwise.`,
		Example: `  kx etcd history deployments/default/web
  kx etcd history deployments/default/web --diff     # and what each changed
  kx etcd history leases/kube-system/x -o json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: o.completeKeys(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.read(cmd, func(ctx context.Context, r *reading) error { return o.run(ctx, r, o.path(args[0])) })
		},
	}
	cmd.Flags().BoolVar(&o.diff, "diff", false, "show what each revision changed")
	outputVar(cmd, &o.output)
	return cmd
}

func changeColumns() []render.Column[admin.Change] {
	return []render.Column[admin.Change]{
		right("REVISION", func(c admin.Change) string { return fmt.Sprint(c.Revision) }),
		column("OPERATION", func(c admin.Change) string { return c.Operation }),
		column("TIME", func(c admin.Change) string { return when(c.Time) }),
		right("BYTES", func(c admin.Change) string { return render.Bytes(int64(c.Bytes)) }),
		column("WRITTEN BY", func(c admin.Change) string {
			if c.Error != "" {
				return c.Error
			}
			return authors(c)
		}),
	}
}

func (o *etcdHistoryOptions) run(ctx context.Context, r *reading, key string) error {
	format, err := listFormat(o.output)
	if err != nil {
		return err
	}
	colored, err := render.Colored(o.color, r.out)
	if err != nil {
		return err
	}
	list := render.NewList(r.out, format, changeColumns()...)
	found := false
	before := []byte("null")
	for c, err := range admin.History(ctx, r, r.decoder, key) {
		if err != nil {
			return err
		}
		found = true
		if !o.diff || format != render.Table {
			if err := list.Add(c); err != nil {
				return err
			}
			continue
		}
		if before, err = o.show(r, c, before, colored); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s: there is no key %s, and none in the history that is left", r.Name(), key)
	}
	return list.Close()
}

// show writes a change and what it changed, and returns the object for the next one.
func (o *etcdHistoryOptions) show(r *reading, c admin.Change, before []byte, colored bool) (after []byte, err error) {
	fmt.Fprintf(r.out, "revision %d  %s  %s  %s  %s\n", c.Revision, c.Operation, when(c.Time), render.Bytes(int64(c.Bytes)), escape.Line(authors(c)))
	if c.Error != "" {
		_, err := fmt.Fprintf(r.out, "  %s\n\n", escape.Text(c.Error))
		return before, err
	}
	after = []byte("null")
	if c.Value != nil {
		if after, err = c.Value.JSON(); err != nil {
			return nil, err
		}
	}
	if _, err := render.Diff(r.out, before, after, colored); err != nil {
		return nil, err
	}
	_, err = fmt.Fprintln(r.out)
	return after, err
}
