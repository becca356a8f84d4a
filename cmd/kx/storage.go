package main

import (
	"github.com/spf13/cobra"
)

func newStorageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "storage",
		Short: "See and change in which version and with which key objects are stored",
		Long: `See and change in which version and with which key objects are stored.

A new encryption key, or a new storage version of a custom resource, applies to an object when it is written again: keys
shows which objects wait for that, and migrate has the server write them. what-if tries the definition of a custom
resource on the stored objects before it is installed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newStorageKeysCommand(), newStorageMigrateCommand(), newStorageWhatIfCommand())
	return cmd
}
