package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/server/version"
)

func newVersionCommand() *cobra.Command {
	var format render.Format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say which kx this is and which Kubernetes it speaks",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return printVersion(cmd.OutOrStdout(), format) },
	}
	formatVar(cmd, cmd.Flags(), &format, "json for all there is to know", render.Text, render.JSON)
	return cmd
}

func printVersion(out io.Writer, format render.Format) error {
	info := version.Info()
	if format == render.JSON {
		return render.WriteOne(out, format, map[string]any{"release": version.Release, "kubernetes": info})
	}
	_, err := fmt.Fprintf(out, "kx %s, Kubernetes %s, %s %s\n", version.Release, info.GitVersion, info.GoVersion, info.Platform)
	return err
}
