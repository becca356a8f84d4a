package main

import "github.com/spf13/cobra"

func newRootCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kx",
		Short: "The Kubernetes API server's storage path, to run, to call and to watch at work",
		// An error is one sentence, printed by main; the usage is for those who ask.
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.AddCommand(newServeCommand(), newTUICommand(), newBenchCommand(), newVersionCommand())
	return cmd
}
