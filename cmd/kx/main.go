// Command kx is the Kubernetes API server's storage path as one binary.
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	if err := newRootCommand().ExecuteContext(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "kx: %v\n", err)
		os.Exit(1)
	}
}
