package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/store/admin"
)

type etcdWatchOptions struct {
	*etcdOptions
	format   render.Format
	revision string
	events   int
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
			return o.read(cmd, func(ctx context.Context, r *reader) error { return o.run(ctx, r, o.pathOf(args)) })
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.revision, "rev", "", "begin with what came after this revision; -100 is a hundred before now")
	fs.IntVar(&o.events, "events", 0, "end after so many; 0 does not end")
	formatVar(cmd, fs, &o.format, "table, json (a line each) or yaml (a document each)", render.Table, render.JSON, render.YAML)
	return cmd
}

func (o *etcdWatchOptions) run(ctx context.Context, r *reader, path string) error {
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
	list := render.NewList(r.out, o.format, render.Events)
	list.Lines = true
	seen := 0
	for e, err := range live.Watch(ctx, path, revision, nil) {
		if err != nil {
			return err
		}
		var teller admin.Teller
		w := render.Event{Key: e.Key, Change: teller.Tell(r.decoder, e)}
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
