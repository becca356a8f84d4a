package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/cmd/kx/internal/render/journey"
)

func newTraceListCommand(o *traceOptions) *cobra.Command {
	list := &traceOptions{}
	cmd := &cobra.Command{
		Use:     "ls [FILTER]",
		Aliases: []string{"list"},
		Short:   "List the requests that the server remembers, one line each, the oldest first",
		Long: `List the requests that the server remembers, or those that the flags and the filter want, one line each, the oldest
first. kx help trace explains the filter.`,
		Example: `  kx trace ls
  kx trace ls --verb create 'code>=400'
  kx trace ls 'step:etcd.txn error:*' -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list.serverOptions = o.serverOptions
			return list.list(cmd.Context(), args, cmd.OutOrStdout())
		},
	}
	list.addFilterFlags(cmd)
	formatVar(cmd, cmd.Flags(), &list.format, "json: a journey a line, without its steps", render.Text, render.JSON)
	return cmd
}

func (o *traceOptions) list(ctx context.Context, args []string, out io.Writer) error {
	wanted, err := o.filter(args)
	if err != nil {
		return err
	}
	client, _, err := o.connect(1)
	if err != nil {
		return err
	}
	defer client.Close()
	rows, err := client.Rows(ctx, wanted)
	if err != nil {
		return err
	}
	for _, j := range rows {
		if o.format == render.JSON {
			err = render.JSONLine(out, j)
		} else {
			err = journey.Line(out, j, journey.PaintFor(out))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
