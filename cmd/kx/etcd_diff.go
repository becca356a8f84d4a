package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/store/admin"
)

type etcdDiffOptions struct {
	*etcdOptions
	output string
}

// difference is a key that is not the same, as it is written.
type difference struct {
	Key            string         `json:"key"`
	Operation      string         `json:"operation"`
	BeforeRevision int64          `json:"beforeRevision,omitempty"`
	AfterRevision  int64          `json:"afterRevision,omitempty"`
	Before         map[string]any `json:"before,omitempty"`
	After          map[string]any `json:"after,omitempty"`
}

func newEtcdDiffCommand(etcd *etcdOptions) *cobra.Command {
	o := &etcdDiffOptions{etcdOptions: etcd}
	cmd := &cobra.Command{
		Use:   "diff REV1 REV2 [PREFIX]",
		Short: "Show what is different between two revisions",
		Long: `Show the keys whose values are not the same at two revisions, and how they differ. 0 is now, and a negative number
goes back from now (after a --, so that it is no flag). Ends with 3 if there are differences.`,
		Example: `  kx etcd diff 1200 1300
  kx etcd diff 1200 0 deployments/default
  kx etcd diff -o json 1200 1300 | jq .[].key
  kx etcd diff -- -50 0 pods`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.read(cmd, func(ctx context.Context, r *reading) error { return o.run(ctx, r, args) })
		},
	}
	outputVar(cmd, &o.output)
	return cmd
}

func (o *etcdDiffOptions) run(ctx context.Context, r *reading, args []string) error {
	format, err := listFormat(o.output)
	if err != nil {
		return err
	}
	colored, err := render.Colored(o.color, r.out)
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
	list := render.NewList[difference](r.out, format)
	found := false
	for d, err := range admin.Diff(ctx, r, o.pathOf(args[2:]), revisions[0], revisions[1]) {
		if err != nil {
			return err
		}
		found = true
		if format != render.Table {
			err = o.add(r, list, d)
		} else {
			err = o.show(r, d, colored)
		}
		if err != nil {
			return err
		}
	}
	if format != render.Table {
		if err := list.Close(); err != nil {
			return err
		}
	}
	if found {
		return &exitError{code: exitFound}
	}
	return nil
}

func operation(d admin.Difference) string {
	switch {
	case d.Before == nil:
		return "create"
	case d.After == nil:
		return "delete"
	}
	return "update"
}

func (o *etcdDiffOptions) add(r *reading, list *render.List[difference], d admin.Difference) error {
	out := difference{Key: d.Key, Operation: operation(d)}
	for _, side := range []struct {
		kv       *admin.KV
		revision *int64
		object   *map[string]any
	}{{d.Before, &out.BeforeRevision, &out.Before}, {d.After, &out.AfterRevision, &out.After}} {
		if side.kv == nil {
			continue
		}
		v, err := r.decoder.Decode(d.Key, side.kv.Value)
		if err != nil {
			return err
		}
		*side.revision, *side.object = side.kv.ModRevision, v.Object
	}
	return list.Add(out)
}

func (o *etcdDiffOptions) show(r *reading, d admin.Difference, colored bool) error {
	from, to := "nothing", "nothing"
	sides := [2][]byte{[]byte("null"), []byte("null")}
	for i, kv := range []*admin.KV{d.Before, d.After} {
		if kv == nil {
			continue
		}
		name := []*string{&from, &to}[i]
		*name = fmt.Sprintf("revision %d", kv.ModRevision)
		v, err := r.decoder.Decode(d.Key, kv.Value)
		if err == nil {
			sides[i], err = v.JSON()
		}
		if err != nil {
			_, err = fmt.Fprintf(r.out, "%s: %s\n\n", operation(d), escape.Text(err.Error()))
			return err
		}
	}
	fmt.Fprintf(r.out, "%s %s: %s to %s\n", operation(d), escape.Line(d.Key), from, to)
	if _, err := render.Diff(r.out, sides[0], sides[1], colored); err != nil {
		return err
	}
	_, err := fmt.Fprintln(r.out)
	return err
}
