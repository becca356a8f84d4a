package main

import (
	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/kubectl"
)

// The groups in which help lists the commands.
const (
	groupServe = "serve"
	groupLook  = "look"
	groupBelow = "below"
	groupUse   = "use"
)

func newRootCommand(streams kubectl.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kx",
		Short: "The Kubernetes API server's storage path, to run, to call and to watch at work",
		// An error is one sentence, printed by main; the usage is for those who ask.
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.SetIn(streams.In)
	cmd.SetOut(streams.Out)
	cmd.SetErr(streams.ErrOut)
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{groupServe, "Run a server:", []*cobra.Command{newServeCommand(), newTUICommand(), newBenchCommand()}},
		{groupLook, "See what it does:", []*cobra.Command{newTraceCommand()}},
		{groupBelow, "Look at and mend what lies below the API:", []*cobra.Command{newEtcdCommand(), newStorageCommand(), newCacheCommand()}},
		{groupUse, "Use it, as with kubectl:", newKubectlCommands(streams)},
	} {
		cmd.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, c := range group.commands {
			c.GroupID = group.id
			cmd.AddCommand(c)
		}
	}
	cmd.AddCommand(newVersionCommand())
	return cmd
}
