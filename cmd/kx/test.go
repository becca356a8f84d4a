package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/child"
	"github.com/kx-apiserver/kx/cmd/kx/internal/export"
	"github.com/kx-apiserver/kx/cmd/kx/internal/proc"
	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/options"
)

const (
	// testJourneys limits the requests that the server of a test remembers. Package kxtest has the same limit.
	testJourneys = 4096
	// testStopWait limits the time for requests to end after the command.
	testStopWait = 10 * time.Second
	// testKeepWait limits the time to write the page of a failed test.
	testKeepWait = time.Minute
	// artifactsVariable names the directory for the pages of failed tests, here and in package kxtest.
	artifactsVariable = "KXTEST_ARTIFACTS"
)

func newTestCommand() *cobra.Command {
	o := &faultTest{}
	cmd := &cobra.Command{
		Use:   "test [flags] [--] COMMAND [ARG...]",
		Short: "Run a command with an API server of its own, and keep the requests if it fails",
		Long: `Run a command with an API server of its own, which keeps nothing and allows breakpoints and faults. The command finds
it by the variable KUBECONFIG, and its exit code is that of kx test: 128 plus the number of the signal if one ended it, 127 if there is no
such command, 126 if it can't be started. An interrupt or SIGTERM goes to the command, and the server stops after it.

If the command fails, its requests are kept as a page for a browser and for kx tui -r, in the directory that the variable
KXTEST_ARTIFACTS names or in that for temporary files, and one line says where.

With --fault, requests go wrong from the start, in a way of kx fault add: its words, with its flags before the filter. Then the command
runs once more, on a new server without faults, and a line says what the faults did:

  resilient     it passes, and stores no more writes and meets no more conflicts than without the faults
  degraded      it passes, and does
  failed        it fails, and passes without the faults; its exit code is that of kx test
  inconclusive  a fault hit nothing, the command fails without faults too, or it made more requests than the server remembers

Conflicts that a fault makes do not count, nor do writes of leases and events. The exit code of inconclusive is the command's, or 1.
--junit writes the verdict to a file too: failed is a failure there, and inconclusive an error.

Tests in Go have a server a test with the package server/kxtest.`,
		Example: `  kx test -- go test ./controllers/...
  kx test -- sh -c 'kubectl apply -f manifests && ./check'
  kx test --fault 'conflict --times 3 verb:update resource:widgets' --junit verdict.xml -- ./check`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), func() *exec.Cmd {
				command := exec.Command(args[0], args[1:]...)
				command.Stdin, command.Stdout, command.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
				return command
			})
		},
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false) // flags after the command's name are its own
	fs.StringArrayVar(&o.faults, "fault", nil, "what goes wrong, such as 'conflict --times 3 verb:update'; may be given several times")
	fs.StringVar(&o.junit, "junit", "", "the file to write the verdict to, as JUnit has it")
	return cmd
}

// runTest runs the command beside a server. The error has the command's exit code. look may be nil.
func runTest(ctx context.Context, command *exec.Cmd, look *observation) (err error) {
	if command.Err == nil {
		_, command.Err = exec.LookPath(command.Path)
	}
	if command.Err != nil {
		return notStarted(command.Err)
	}
	o := options.New()
	o.Ephemeral, o.Listen = true, "127.0.0.1:0"
	o.Allow.Breakpoints, o.Allow.Faults = options.Always, options.Always
	o.Limits.MaxJourneys = testJourneys
	log := slog.New(slog.NewTextHandler(command.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	proc.SendLogs(log.Handler())
	defer outliveReaders()()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	leaveNothing, err := ephemeral(o)
	if err != nil {
		return err
	}
	defer leaveNothing()
	starting, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	s, err := server.Start(starting, o, log)
	stop()
	early := interruptError(signals)
	if s == nil {
		return cmp.Or(early, err)
	}
	if err = early; err == nil {
		err = testBeside(ctx, s, command, signals, look)
	}
	stopCtx, cancel := context.WithTimeout(context.Background(), testStopWait)
	defer cancel()
	if stopErr := s.Stop(stopCtx); stopErr != nil {
		err = addTo(err, stopErr)
	}
	return err
}

// interruptError returns an error if a signal came while the server started.
func interruptError(signals <-chan os.Signal) error {
	select {
	case sig := <-signals:
		return &exitError{code: child.SignalExitCode(sig), err: fmt.Errorf("test: %s before the command began", sig)}
	default:
		return nil
	}
}

// addTo adds an error to that of the command, whose exit code stays.
func addTo(err, more error) error {
	var coded *exitError
	if errors.As(err, &coded) {
		return &exitError{code: coded.code, err: errors.Join(coded.err, more)}
	}
	return errors.Join(err, more)
}

// testBeside runs the command, and keeps its requests if it fails.
func testBeside(
	ctx context.Context, s *server.Server, command *exec.Cmd, signals <-chan os.Signal, look *observation,
) error {
	command.Env = append(command.Environ(), "KUBECONFIG="+s.Kubeconfig)
	if err := look.begin(ctx, s.Kubeconfig); err != nil {
		return fmt.Errorf("test: %w", err)
	}
	c, err := child.Start(command, signals)
	if err != nil {
		return notStarted(err)
	}
	code, err := c.Wait()
	if err != nil {
		err = fmt.Errorf("test: %w", err)
	}
	if lookErr := look.end(ctx, s.Kubeconfig, code); lookErr != nil {
		err = errors.Join(err, fmt.Errorf("test: %w", lookErr))
	}
	if code == 0 {
		return err
	}
	fmt.Fprintf(command.Stderr, "kx: %s\n", escape.Line(keepRequests(ctx, s.Kubeconfig)))
	return &exitError{code: code, err: err}
}

// The exit codes of a command that can't be started, as in a shell.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// notStarted is the error of a command that can't be started.
func notStarted(err error) error {
	code := exitNotExecutable
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		code = exitNotFound
	}
	return &exitError{code: code, err: fmt.Errorf("test: the command can't be started: %w: check its name and its mode", err)}
}

// keepRequests writes the requests of a server to a page, and says where that is. A signal ends it.
func keepRequests(ctx context.Context, kubeconfig string) string {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, testKeepWait)
	defer cancel()
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
	if err := errors.Join(f.Close(), e.export(ctx, []string{wanted}, nil, io.Discard)); err != nil {
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
