package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/export"
	"github.com/kx-apiserver/kx/cmd/kx/internal/proc"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/options"
)

const (
	// testJourneys limits the requests that the server of a test remembers. Package kxtest has the same limit.
	testJourneys = 4096
	// testStopWait limits the time for requests to end after the command.
	testStopWait = 10 * time.Second
	// artifactsVariable names the directory for the pages of failed tests, here and in package kxtest.
	artifactsVariable = "KXTEST_ARTIFACTS"
)

func newTestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test [--] COMMAND [ARG...]",
		Short: "Run a command with an API server of its own, and keep the requests if it fails",
		Long: `Run a command with an API server of its own, which keeps nothing and allows breakpoints and faults. The command finds
it by the variable KUBECONFIG, and its exit code is that of kx test.

If the command fails, its requests are kept as a page for a browser and for kx tui -r, in the directory that the variable
KXTEST_ARTIFACTS names or in that for temporary files, and one line says where.

Tests in Go have a server a test with the package server/kxtest.`,
		Example: `  kx test -- go test ./controllers/...
  kx test -- sh -c 'kubectl apply -f manifests && ./check'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			command := exec.Command(args[0], args[1:]...)
			command.Stdin, command.Stdout, command.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return runTest(cmd.Context(), command)
		},
	}
	cmd.Flags().SetInterspersed(false) // flags after the command's name are its own
	return cmd
}

// runTest runs the command beside a server. The error has the command's exit code.
func runTest(ctx context.Context, command *exec.Cmd) (err error) {
	if command.Err != nil {
		return fmt.Errorf("test: %w", command.Err)
	}
	o := options.New()
	o.Ephemeral, o.Listen = true, "127.0.0.1:0"
	o.Allow.Breakpoints, o.Allow.Faults = options.Always, options.Always
	o.Limits.MaxJourneys = testJourneys
	log := slog.New(slog.NewTextHandler(command.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	proc.SendLogs(log.Handler())
	leaveNothing, err := ephemeral(o)
	if err != nil {
		return err
	}
	defer leaveNothing()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	s, err := server.Start(ctx, o, log)
	if err != nil {
		return err
	}
	defer func() {
		stopCtx, cancel := context.WithTimeout(context.Background(), testStopWait)
		defer cancel()
		err = errors.Join(err, s.Stop(stopCtx))
	}()
	command.Env = append(command.Environ(), "KUBECONFIG="+s.Kubeconfig)
	code, err := runWith(command, signals)
	if err != nil {
		return fmt.Errorf("test: %w", err)
	}
	if code == 0 {
		return nil
	}
	fmt.Fprintf(command.Stderr, "kx: %s\n", keepRequests(ctx, s.Kubeconfig))
	return &exitError{code: code}
}

// runWith runs a command and returns its exit code. It passes signals on, except interrupts: a terminal sends these to
// both processes.
func runWith(command *exec.Cmd, signals <-chan os.Signal) (code int, err error) {
	if err := command.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for {
		select {
		case sig := <-signals:
			if sig != os.Interrupt {
				_ = command.Process.Signal(sig)
			}
		case err := <-ended:
			var exit *exec.ExitError
			switch {
			case err == nil:
				return 0, nil
			case errors.As(err, &exit) && exit.ExitCode() > 0:
				return exit.ExitCode(), nil
			case errors.As(err, &exit):
				return 1, nil // a signal ended it
			}
			return 0, err
		}
	}
}

// keepRequests writes the requests of a server to a page, and says where that is.
func keepRequests(ctx context.Context, kubeconfig string) string {
	e := &traceExport{journeySource: journeySource{traceOptions: &traceOptions{}}}
	e.kubeconfig, e.format = kubeconfig, export.HTML
	wanted, made, err := worthKeeping(ctx, e.traceOptions)
	switch {
	case err != nil:
		return "the requests are not kept: " + err.Error()
	case !made:
		return "the command failed, and made no requests"
	}
	dir := os.Getenv(artifactsVariable)
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "the requests are not kept: " + err.Error()
		}
	}
	f, err := os.CreateTemp(dir, "kx-test-*.html")
	if err != nil {
		return "the requests are not kept: " + err.Error()
	}
	path := f.Name()
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	e.out = path
	if err := errors.Join(f.Close(), e.export(ctx, wanted, nil, io.Discard)); err != nil {
		os.Remove(path)
		return "the requests are not kept: " + err.Error()
	}
	return "the command failed; its requests, for a browser or kx tui -r: " + path
}

// A page has the latest requests and the latest refused ones, about 40 KB for each.
const latestMost, refusedMost = 200, 100

// worthKeeping returns a filter for the requests of a page, and whether any were made. The filter is empty, which wants
// all, if there are not too many.
func worthKeeping(ctx context.Context, o *traceOptions) (wanted string, made bool, err error) {
	client, _, err := o.connect(1)
	if err != nil {
		return "", false, err
	}
	defer client.Close()
	all, err := client.List(ctx, "")
	if err != nil || len(all) <= latestMost {
		return "", len(all) > 0, err
	}
	refused, err := client.List(ctx, "code>=400")
	if err != nil {
		return "", false, err
	}
	wanted = "after:" + all[len(all)-latestMost-1] + " | code>=400"
	if before := len(refused) - refusedMost; before > 0 {
		wanted += " after:" + refused[before-1]
	}
	return wanted, true, nil
}
