package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/store/admin"
)

type etcdTopOptions struct {
	*etcdOptions
	format render.Format
	since  string
	every  time.Duration
	top    admin.TopOptions
}

func newEtcdTopCommand(etcd *etcdOptions) *cobra.Command {
	o := &etcdTopOptions{etcdOptions: etcd, top: admin.TopOptions{By: "resource", Sort: "bytes", Limit: 20}}
	cmd := &cobra.Command{
		Use:   "top [PREFIX]",
		Short: "Show what uses etcd: bytes, keys and writes by resource, namespace or object",
		Long: `Show what uses etcd, by resource, namespace or object.

BYTES are those of keys and values, WRITES all since the keys were created, and CHURN the writes and deletions since
--since: by default since the oldest revision that etcd still has.`,
		Example: `  kx etcd top
  kx etcd top --by object --sort churn        # what is written most
  kx etcd top --by namespace pods
  kx etcd top --sort churn --since -1000      # in the last thousand revisions
  kx etcd top --every 5s                      # again and again`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: o.completeKeys(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.read(cmd, func(ctx context.Context, r *reader) error {
				o.top.Prefix, o.top.Path = o.keyPrefix(), o.pathOf(args)
				return o.run(ctx, r)
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.top.By, "by", o.top.By, "resource, namespace or object")
	oneOf(cmd, "by", "resource", "namespace", "object")
	fs.StringVar(&o.top.Sort, "sort", o.top.Sort, "bytes, keys, writes or churn")
	oneOf(cmd, "sort", "bytes", "keys", "writes", "churn")
	fs.StringVar(&o.since, "since", "", "the revision from which churn counts; -1000 is a thousand before now")
	fs.IntVar(&o.top.Limit, "limit", o.top.Limit, "how many to show; 0 for all")
	fs.DurationVar(&o.every, "every", 0, "show it again each time so long has passed, with the churn in between")
	listFormatVar(cmd, &o.format)
	return cmd
}

func (o *etcdTopOptions) run(ctx context.Context, r *reader) error {
	head, err := r.Head(ctx)
	if err != nil {
		return err
	}
	o.top.Since = max(head.Compacted, 1)
	if o.since != "" {
		if o.top.Since, err = admin.ParseRevision(o.since, head); err != nil {
			return err
		}
	}
	for {
		o.top.Revision = head.Revision
		if err := o.once(ctx, r); err != nil || o.every == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(o.every):
		}
		o.top.Since = head.Revision
		if head, err = r.Head(ctx); err != nil {
			return err
		}
	}
}

func (o *etcdTopOptions) once(ctx context.Context, r *reader) error {
	progress := r.keysProgress()
	defer progress.Clear()
	top, total, err := admin.Top(ctx, r, o.top, progress.Add)
	if err != nil {
		return err
	}
	progress.Clear()
	if o.every > 0 && render.IsTerminal(r.out) {
		if _, err := io.WriteString(r.out, "\x1b[H\x1b[2J"); err != nil {
			return err
		}
	}
	if o.format == render.Table {
		fmt.Fprintf(r.out, "revision %d, churn since revision %d\n", o.top.Revision, o.top.Since)
		top = append(top, total)
	}
	title := map[string]string{"resource": "RESOURCE", "namespace": "NAMESPACE", "object": "KEY"}[o.top.By]
	return render.All(r.out, o.format, render.Usage(title), top...)
}
