package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/options"
)

func newServeCommand() *cobra.Command {
	o := options.New()
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API on an etcd in this process, or on an etcd cluster",
		Long: `Serve the Kubernetes API on an etcd in this process, or on an etcd cluster.

When it is ready it prints one line, with its address and where the kubeconfig is. It logs to stderr.
An interrupt stops it in good order; a second one at once.`,
		Example: `  kx serve                      # keys, kubeconfig and data in ~/.kx
  kx serve --ephemeral          # keep nothing
  kx serve --etcd-servers https://10.0.0.1:2379 --etcd-cafile ca.crt --etcd-certfile c.crt --etcd-keyfile c.key`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runServe(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func runServe(ctx context.Context, o *options.Options, out, errOut io.Writer) error {
	if err := o.Validate(); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(errOut, nil))
	slog.SetDefault(log)
	klog.SetSlogLogger(log)

	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	s, err := startInterruptibly(ctx, o, log, signals)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "kx: serving %s  kubeconfig: %s\n", s.URL, s.Kubeconfig)
	var failure error
	select {
	case sig := <-signals:
		log.Info("stopping: requests in flight may finish", "signal", sig.String())
	case <-ctx.Done():
	case failure = <-s.Failed():
		log.Error("stopping", "error", failure)
	}
	go func() {
		<-signals
		log.Warn("stopping at once")
		os.Exit(1)
	}()
	stopCtx, cancel := context.WithTimeout(context.Background(), o.Limits.RequestTimeout)
	defer cancel()
	return errors.Join(failure, s.Stop(stopCtx))
}

// startInterruptibly starts the server and gives up when a signal comes first.
func startInterruptibly(ctx context.Context, o *options.Options, log *slog.Logger, signals <-chan os.Signal) (*server.Server, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case sig := <-signals:
			cancel(fmt.Errorf("interrupted by %s while starting", sig))
		case <-done:
		}
	}()
	return server.Start(ctx, o, log)
}
