package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/server/version"
)

type versionOptions struct {
	output string
}

func newVersionCommand() *cobra.Command {
	var o versionOptions
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say which kx this is and which Kubernetes it speaks",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return o.run(cmd.OutOrStdout()) },
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "json for all there is to know")
	oneOf(cmd, "output", "json")
	return cmd
}

func (o *versionOptions) run(out io.Writer) error {
	info := version.Info()
	switch o.output {
	case "":
		_, err := fmt.Fprintf(out, "kx %s, Kubernetes %s, %s %s\n", version.Release, info.GitVersion, info.GoVersion, info.Platform)
		return err
	case "json":
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{"release": version.Release, "kubernetes": info})
	}
	return fmt.Errorf("version: output %q is unknown: use json, or leave -o out", o.output)
}
