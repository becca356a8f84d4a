package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/store/admin"
)

type etcdWatchOptions struct {
	*etcdOptions
	output   string
	revision string
	events   int
}

// watched is an event as it is written.
type watched struct {
	Key string `json:"key"`
	admin.Change
	Object map[string]any `json:"object,omitempty"`
}

func newEtcdWatchCommand(etcd *etcdOptions) *cobra.Command {
	o := &etcdWatchOptions{etcdOptions: etcd}
	cmd := &cobra.Command{
		Use:   "watch [PREFIX]",
		Short: "Follow what is written, decoded, with revisions",
		Long: `Follow what is written at PREFIX and below until interrupted. -o json is one line an event, with the object.

WRITTEN BY is the manager that the object's managed fields name as the latest.`,
		Example: `  kx etcd watch                          # everything
  kx etcd watch leases
  kx etcd watch pods --rev -100          # the last hundred revisions, and on
  kx etcd watch pods -o json | jq .object.status.phase`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: o.completeKeys(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.read(cmd, func(ctx context.Context, r *reading) error { return o.run(ctx, r, o.pathOf(args)) })
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.revision, "rev", "", "begin with what came after this revision; -100 is a hundred before now")
	fs.IntVar(&o.events, "events", 0, "end after so many; 0 does not end")
	fs.StringVarP(&o.output, "output", "o", string(render.Table), "table, json (a line each) or yaml (a document each)")
	oneOf(cmd, "output", listFormats...)
	return cmd
}

func (o *etcdWatchOptions) run(ctx context.Context, r *reading, path string) error {
	format, err := listFormat(o.output)
	if err != nil {
		return err
	}
	live, ok := r.Source.(*admin.Live)
	if !ok {
		return errors.New("--file does not change: watch needs an etcd that runs")
	}
	revision, err := r.revision(ctx, o.revision)
	if err != nil {
		return err
	}
	if revision > 0 {
		revision++
	}
	columns := []render.Column[watched]{
		right("REVISION", func(w watched) string { return fmt.Sprintf("%8d", w.Revision) }),
		column("OPERATION", func(w watched) string { return w.Operation }),
		right("BYTES", func(w watched) string { return fmt.Sprintf("%9s", render.Bytes(int64(w.Bytes))) }),
		column("WRITTEN BY", func(w watched) string { return fmt.Sprintf("%-24s", authors(w.Change)) }),
		column("KEY", func(w watched) string {
			if w.Error != "" {
				return w.Error
			}
			return w.Key
		}),
	}
	list := render.NewList(r.out, format, columns...)
	list.Lines = true
	seen := 0
	for e, err := range live.Watch(ctx, path, revision, nil) {
		if err != nil {
			return err
		}
		var teller admin.Teller
		w := watched{Key: e.Key, Change: teller.Tell(r.decoder, e)}
		if w.Value != nil {
			w.Object = w.Value.Object
		}
		if err := list.Add(w); err != nil {
			return err
		}
		if seen++; seen == o.events {
			break
		}
	}
	return list.Close()
}
