package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/cmd/kx/internal/render/journey"
)

func newTraceCompareCommand(o *traceOptions) *cobra.Command {
	s := &journeySource{traceOptions: o}
	cmd := &cobra.Command{
		Use:   "compare FIRST SECOND",
		Short: "Compare two requests step by step: what one did and the other did not",
		Long: `Compare two requests step by step, such as a read that the watch cache answered with one that asked etcd, or a write
that was done with one that was refused. Each step has the time that it took in both; < marks a step of the first
request alone, > one of the second alone, and ~ one that went differently in both, with both reasons.`,
		Example: `  kx trace compare 3f2a1c-17 3f2a1c-19
  kx trace compare 3f2a1c-17 3f2a1c-19 -o json
  kx trace compare --file slow.kxtrace 3f2a1c-17 3f2a1c-19`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: o.completeID(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.compare(cmd.Context(), args[0], args[1], cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	s.addFlags(cmd, "json: the steps of both, side by side", render.JSON)
	return cmd
}

func (s *journeySource) compare(ctx context.Context, first, second string, in io.Reader, out io.Writer) error {
	if s.file == "-" {
		return errors.New(
			"trace compare: both requests are looked for in the capture, which standard input has only once: write it to a file")
	}
	a, err := s.journey(ctx, first, in)
	if err != nil {
		return err
	}
	b, err := s.journey(ctx, second, in)
	if err != nil {
		return err
	}
	if s.format == render.JSON {
		return render.WriteOne(out, render.JSON, journey.Pairs(a, b))
	}
	journey.Compare(out, a, b, journey.PaintFor(out).WithLanguage(s.language))
	return nil
}
