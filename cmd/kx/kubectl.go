package main

import (
	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/kubectl"
	"github.com/kx-apiserver/kx/server/options"
)

// newKubectlCommands makes kubectl's commands, and kx send, which finds its server like them.
func newKubectlCommands(streams kubectl.Streams) []*cobra.Command {
	return kubectl.NewCommands(options.New().DataDir, streams, newSendCommand)
}
