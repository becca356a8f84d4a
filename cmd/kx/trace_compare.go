package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/cmd/kx/internal/traceview"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/compare/align"
)

func newTraceCompareCommand(o *traceOptions) *cobra.Command {
	s := &journeySource{traceOptions: o}
	cmd := &cobra.Command{
		Use:   "compare FIRST SECOND",
		Short: "Compare two requests step by step: what one did and the other did not",
		Long: `Compare two requests step by step, such as a read that the watch cache answered with one that asked etcd, or a write
that was done with one that was refused. Each step has the time that it took in both; < marks one that the first took
alone, > one that the second took alone, ~ one that both took and that went otherwise, with the reasons of both.`,
		Example: `  kx trace compare 3f2a1c-17 3f2a1c-19
  kx trace compare 3f2a1c-17 3f2a1c-19 -o json
  kx trace compare --file slow.kxtrace 3f2a1c-17 3f2a1c-19`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: o.completeID(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.compare(cmd.Context(), args[0], args[1], cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	s.addFlags(cmd, "json: the steps of both, side by side", "json")
	return cmd
}

// compared is a step of the one request and the same one of the other.
type compared struct {
	First   *v1alpha1.Step `json:"first,omitempty"`
	Second  *v1alpha1.Step `json:"second,omitempty"`
	Differs bool           `json:"differs"`
}

func (s *journeySource) compare(ctx context.Context, first, second string, in io.Reader, out io.Writer) error {
	switch {
	case s.output != "" && s.output != "json":
		return fmt.Errorf("trace compare: output %q is unknown: use json, or leave -o out", s.output)
	case s.file == "-":
		return errors.New("trace compare: both requests are looked for in the capture, which standard input has only once: write it to a file")
	}
	a, err := s.journey(ctx, first, in)
	if err != nil {
		return err
	}
	b, err := s.journey(ctx, second, in)
	if err != nil {
		return err
	}
	if s.output == "" {
		traceview.Compare(out, a, b, traceview.PaintFor(out))
		return nil
	}
	pairs := []compared{}
	for _, p := range align.Steps(a, b) {
		c := compared{Differs: p.Differs || p.A < 0 || p.B < 0}
		if p.A >= 0 {
			c.First = &a.Status.Steps[p.A]
		}
		if p.B >= 0 {
			c.Second = &b.Status.Steps[p.B]
		}
		pairs = append(pairs, c)
	}
	return render.One(out, render.JSON, pairs)
}
