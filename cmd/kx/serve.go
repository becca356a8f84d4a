package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/proc"
	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/options"
)

func newServeCommand() *cobra.Command {
	o, data, untilStdinEnds := options.New(), &origin{}, false
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API on an etcd in this process, or on an etcd cluster",
		Long: `Serve the Kubernetes API on an etcd in this process, or on an etcd cluster.

When it is ready it prints its address and where the kubeconfig is, and on the next line whether breakpoints and faults are on. Started
at a terminal and listening on this machine alone, they are, for administrators. It logs to stderr.
An interrupt stops it in good order; a second one at once.`,
		Example: `  kx serve                      # keys, kubeconfig and data in ~/.kx
  kx serve --ephemeral          # keep nothing
  kx serve --ephemeral --from ~/.kx --listen 127.0.0.1:0   # try something on a copy of a kx that runs
  kx serve --etcd-servers https://10.0.0.1:2379 --etcd-cafile ca.crt --etcd-certfile c.crt --etcd-keyfile c.key`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if render.IsTerminal(cmd.InOrStdin()) && render.IsTerminal(cmd.OutOrStdout()) {
				permitAtTerminal(o)
			}
			ctx := cmd.Context()
			if untilStdinEnds {
				ctx = untilEnd(ctx, cmd.InOrStdin())
			}
			if err := data.check(o, cmd.Flags().Changed("from")); err != nil {
				return err
			}
			fill := func(dir string) error { return data.copy(cmd, dir) }
			return runServe(ctx, o, fill, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&untilStdinEnds, "until-stdin-ends", false,
		"stop in good order when standard input ends: a pipe from the process that started the server ends with that process")
	cmd.Flags().StringVar(&data.from, "from", "", "with --ephemeral: begin with a copy of the data, keys and certificates of the kx of "+
		"this data directory, or of an archive of kx etcd snapshot save --archive")
	return cmd
}

// untilEnd returns a context that is cancelled when in ends. Whatever in contains is ignored.
func untilEnd(ctx context.Context, in io.Reader) context.Context {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		_, err := io.Copy(io.Discard, in)
		end(errors.Join(errors.New("standard input has ended"), err))
	}()
	return ctx
}

// permitAtTerminal allows breakpoints and faults that no flag speaks of, if the server listens on this machine alone.
func permitAtTerminal(o *options.Options) {
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil || host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return
	}
	for _, permit := range []*options.Permit{&o.Allow.Breakpoints, &o.Allow.Faults} {
		if *permit == options.Asked {
			*permit = options.Always
		}
	}
}

// permissionText says what administrators may do, and how that is changed.
func permissionText(allow options.Allow) string {
	state := func(p options.Permit) string {
		return map[options.Permit]string{options.Always: "on", options.Asked: "off", options.Never: "never"}[p]
	}
	text := fmt.Sprintf("breakpoints %s, faults %s", state(allow.Breakpoints), state(allow.Faults))
	switch {
	case allow.Breakpoints == options.Asked || allow.Faults == options.Asked:
		text += ": kx trace record --breakpoints --faults switches them on for a while"
	case allow.Breakpoints == options.Always || allow.Faults == options.Always:
		text += ", for administrators: --allow-breakpoints=never --allow-faults=never forbids them"
	}
	return text
}

// runServe serves until ctx ends. fill is called with the temporary directory, if there is one.
func runServe(ctx context.Context, o *options.Options, fill func(dir string) error, out, errOut io.Writer) error {
	if err := o.Validate(); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out, errOut = &outlet{out, stop}, &outlet{errOut, stop}
	log := slog.New(slog.NewTextHandler(errOut, nil))
	slog.SetDefault(log)
	proc.SendLogs(log.Handler())

	defer outliveReaders()() // the server has to stop in order also if its reader, such as tee, has ended before
	leaveNothing, err := ephemeral(o)
	if err != nil {
		return err
	}
	defer leaveNothing()
	if o.Ephemeral {
		if err := fill(o.EphemeralDir); err != nil {
			return err
		}
	}
	ctx, stopListening := interruptible(ctx, log, leaveNothing)
	defer stopListening()
	return server.Run(ctx, o, log, func(s *server.Server) {
		go proc.GiveBackMemory(ctx)
		fmt.Fprintf(out, server.Ready+"kx: %s\n", s.URL, s.Kubeconfig, permissionText(o.Allow))
	})
}

// outlet stops the server when the reader of what it writes has ended.
type outlet struct {
	io.Writer
	stop context.CancelCauseFunc
}

func (o *outlet) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		o.stop(errors.New("nobody reads the output any more"))
	}
	return n, err
}

// ephemeral makes the temporary directory, if one is wanted, and returns what removes it, also where there was no
// orderly stop.
func ephemeral(o *options.Options) (leaveNothing func(), err error) {
	if !o.Ephemeral {
		return func() {}, nil
	}
	if o.EphemeralDir, err = identity.MakeEphemeral(); err != nil {
		return nil, err
	}
	return func() {
		// The server may still write. A new file makes the removal fail, so it is repeated: once the file's directory
		// is gone, no more can be created.
		for range 10 {
			if os.RemoveAll(o.EphemeralDir) == nil {
				return
			}
		}
	}, nil
}

// outliveReaders has writes to a standard output that nothing reads any more fail, until restored: the signal that
// ends a process there by default leaves its temporary directory behind.
func outliveReaders() (restore func()) {
	ignored := make(chan os.Signal, 1) // the signal is only ignored if nothing inherits that
	signal.Notify(ignored, syscall.SIGPIPE)
	return func() { signal.Stop(ignored) }
}

// interruptible cancels ctx at the first signal. At the second it calls atOnce and ends the process.
func interruptible(ctx context.Context, log *slog.Logger, atOnce func()) (_ context.Context, stop func()) {
	ctx, interrupt := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case sig := <-signals:
				if ctx.Err() != nil {
					log.Warn("stopping at once", "signal", sig)
					atOnce()
					os.Exit(1)
				}
				interrupt(fmt.Errorf("interrupted by %s", sig))
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		interrupt(nil)
	}
}
