package main

import (
	"github.com/spf13/cobra"
)

func newPolicyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Try admission policies before they are installed",
		Long: `Try admission policies before they are installed: what they would say of the objects that a server has.

What installed policies say of a request is in its journey: kx trace show.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicyTryCommand())
	return cmd
}
