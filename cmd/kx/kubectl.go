package main

import (
	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/kubectl"
	"github.com/kx-apiserver/kx/server/options"
)

// newKubectlCommands makes the commands that kubectl has, and kx send, which goes the same way.
func newKubectlCommands(streams kubectl.Streams) []*cobra.Command {
	return kubectl.NewCommands(options.New().DataDir, streams, newSendCommand)
}
