package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"go.etcd.io/etcd/server/v3/etcdmain"

	"github.com/kx-apiserver/kx/cmd/kx/internal/assets"
	"github.com/kx-apiserver/kx/cmd/kx/internal/kubectl"
	"github.com/kx-apiserver/kx/cmd/kx/internal/standin"
	"github.com/kx-apiserver/kx/core/escape"
)

// program runs a process: it gets arguments and returns an exit code.
type program func(ctx context.Context, args []string, streams kubectl.Streams) int

// programFor returns the program with the name by which this process was started: kx testassets makes links with the
// names of others.
func programFor(as string) program {
	name := cmp.Or(os.Getenv(assets.CalledVariable), filepath.Base(as))
	_ = os.Unsetenv(assets.CalledVariable) // programs that this one starts are called by their own names
	switch strings.TrimSuffix(name, ".exe") {
	case assets.APIServer:
		return asAPIServer
	case assets.Etcd:
		return asEtcd
	case assets.Kubectl:
		return asKubectl
	}
	return run
}

// asAPIServer serves the API as a kube-apiserver does.
func asAPIServer(ctx context.Context, args []string, streams kubectl.Streams) int {
	a, err := standin.ParseAPIServer(args, os.Getenv(standin.ControllersVariable))
	switch {
	case err != nil:
	case a.Answer != "":
		_, err = fmt.Fprint(streams.Out, a.Answer)
	default:
		if warning := a.Warning(); warning != "" {
			slog.New(slog.NewTextHandler(streams.ErrOut, nil)).Warn(warning)
		}
		err = runServe(ctx, a.Options, func(string) error { return nil }, streams.ErrOut, streams.ErrOut)
	}
	return report(assets.APIServer, err, streams)
}

// asEtcd runs etcd's own command, which ends the process.
func asEtcd(_ context.Context, args []string, streams kubectl.Streams) int {
	args, err := standin.EtcdArgs(args)
	if err != nil {
		return report(assets.Etcd, err, streams)
	}
	etcdmain.Main(append([]string{assets.Etcd}, args...))
	return 0
}

// asKubectl runs kubectl's commands, on the server that a kubectl would use.
func asKubectl(ctx context.Context, args []string, streams kubectl.Streams) int {
	cmd := kubectl.NewRoot(streams)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	var exit kubectl.ExitError
	if errors.As(err, &exit) {
		return int(exit) // the command has printed the error
	}
	return report("error", err, streams)
}

// report prints an error, and returns the exit code.
func report(name string, err error, streams kubectl.Streams) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(streams.ErrOut, "%s: %s\n", name, escape.Text(err.Error()))
	return 1
}
