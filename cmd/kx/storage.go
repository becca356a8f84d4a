package main

import (
	"github.com/spf13/cobra"
)

func newStorageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "storage",
		Short: "See and change in which version and with which key objects are stored",
		Long: `See and change in which version and with which key objects are stored.

After a new encryption key, or a new storage version of a custom resource, what was stored before stays as it is until it
is written again: keys shows what that is, and migrate has the server write it. what-if tries a definition of a custom
resource on what is stored, before it is installed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newStorageKeysCommand(), newStorageMigrateCommand(), newStorageWhatIfCommand())
	return cmd
}
