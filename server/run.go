package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/kx-apiserver/kx/server/options"
)

const (
	// failedPatience is how long requests may go on after the server failed: most wait for an etcd that is gone.
	failedPatience = time.Second
	// closePatience limits the time to stop a failed server. A read inside a failed etcd never ends.
	closePatience = 8 * time.Second
)

// Run serves until ctx ends or the server fails, and stops in order. It calls ready when the server is ready.
func Run(ctx context.Context, o *options.Options, log *slog.Logger, ready func(*Server)) error {
	s, err := Start(ctx, o, log)
	if err != nil {
		return err
	}
	ready(s)
	var failure error
	patience := o.Limits.RequestTimeout
	select {
	case <-ctx.Done():
		log.Info("stopping: requests in flight may finish", "reason", context.Cause(ctx))
	case failure = <-s.Failed():
		log.Error("stopping", "error", failure)
		patience = min(patience, failedPatience)
	}
	stopCtx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if failure == nil {
		return s.Stop(stopCtx)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(stopCtx) }()
	select {
	case err = <-stopped:
	case <-time.After(closePatience):
		log.Warn("stopped before all was closed", "waited", closePatience)
	}
	return errors.Join(failure, err)
}

// Ready is what kx serve prints when it is ready: the server's address, and the path of its administrator's kubeconfig.
const Ready = "kx: serving %s  kubeconfig: %s\n"

// Serve runs kx serve --ephemeral with more of its flags in the process of a Go program, such as a test, until ctx
// ends. The data is in a new directory in dir, and gone afterwards. A server writes the line [Ready] to out, and its
// log to log. A process may run many; what Kubernetes' libraries log goes to klog's logger, which is the program's to
// choose.
func Serve(ctx context.Context, dir string, flags []string, out, log io.Writer) error {
	o := options.New()
	set := pflag.NewFlagSet("kx serve", pflag.ContinueOnError)
	set.SetOutput(io.Discard) // the error says it
	o.AddFlags(set)
	if err := set.Parse(flags); err != nil {
		return fmt.Errorf("%w (kx serve --help lists those there are)", err)
	}
	if set.NArg() > 0 {
		return fmt.Errorf("kx serve takes flags alone, and no %q", set.Arg(0))
	}
	o.Ephemeral = true
	if err := o.Validate(); err != nil {
		return err
	}
	var err error
	if o.EphemeralDir, err = os.MkdirTemp(dir, "kx-"); err != nil {
		return fmt.Errorf("make a directory for the server's data: %w", err)
	}
	defer os.RemoveAll(o.EphemeralDir) // the server does it, unless it could not start
	return Run(ctx, o, slog.New(slog.NewTextHandler(log, nil)), func(s *Server) { fmt.Fprintf(out, Ready, s.URL, s.Kubeconfig) })
}
