// Command kx is the Kubernetes API server's storage path as one binary.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/atinit"
	"github.com/kx-apiserver/kx/cmd/kx/internal/kubectl"
	"github.com/kx-apiserver/kx/core/escape"
)

func main() {
	atinit.Finish()
	runtime.MemProfileRate = 0 // no command shows allocations, and their record takes memory
	do := programFor(os.Args[0])
	os.Exit(do(context.Background(), os.Args[1:], kubectl.Streams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
}

// run runs a command of kx and returns its exit code.
func run(ctx context.Context, args []string, streams kubectl.Streams) int {
	return execute(ctx, newRootCommand(streams), args, streams)
}

// execute runs a prepared command and returns its exit code.
func execute(ctx context.Context, cmd *cobra.Command, args []string, streams kubectl.Streams) int {
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	var exit kubectl.ExitError
	var coded *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit) // kubectl has printed the error
	case errors.As(err, &coded):
		if coded.err != nil {
			fmt.Fprintf(streams.ErrOut, "kx: %s\n", escape.Text(err.Error()))
		}
		return coded.code
	}
	if _, _, unknown := cmd.Find(args); unknown != nil && !strings.Contains(unknown.Error(), "\n") {
		err = fmt.Errorf("%w (kx help lists those there are)", err)
	}
	fmt.Fprintf(streams.ErrOut, "kx: %s\n", escape.Text(err.Error()))
	return 1
}
