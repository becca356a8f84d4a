package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/tui"
	"github.com/kx-apiserver/kx/tui/theme"
)

// themeVariable is where the theme is taken from if no flag says.
const themeVariable = "KX_THEME"

// tuiOptions are what kx tui can be told.
type tuiOptions struct {
	server     *options.Options
	kubeconfig string
	theme      string

	// show shows the screen until it is left.
	show func(context.Context, tui.Options) error
}

func newTUICommand() *cobra.Command {
	o := &tuiOptions{server: options.New(), theme: os.Getenv(themeVariable), show: tui.Run}
	cmd := &cobra.Command{
		Use:   "tui",
		Short: "Serve the API and follow its requests on a screen, step by step",
		Long: `Serve the Kubernetes API from this process and follow its requests on a screen: which code each went through,
how long it took, and why it went that way. With --kubeconfig, follow a kx that runs elsewhere.

On the screen, ? lists the keys and q quits. The server ends with the screen; what it stored stays.`,
		Example: `  kx tui                               # keys, kubeconfig and data in ~/.kx
  kx tui --ephemeral                   # keep nothing
  kx tui --kubeconfig ~/.kx/kubeconfig # follow a kx serve that runs`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := tui.CheckTerminal(); err != nil {
				return err
			}
			return runTUI(cmd.Context(), o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.server.DataDir, "data-dir", o.server.DataDir, "directory for keys, kubeconfig and the embedded etcd's data")
	fs.BoolVar(&o.server.Ephemeral, "ephemeral", o.server.Ephemeral, "keep everything in a temporary directory and leave nothing")
	fs.StringVar(&o.server.Listen, "listen", o.server.Listen, "address to serve on; port 0 picks a free one")
	fs.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig, "follow the server of this kubeconfig, and start none")
	fs.StringVar(&o.theme, "theme", o.theme, "auto, light or dark (default auto, or $"+themeVariable+")")
	cmd.MarkFlagsMutuallyExclusive("kubeconfig", "data-dir")
	cmd.MarkFlagsMutuallyExclusive("kubeconfig", "ephemeral")
	cmd.MarkFlagsMutuallyExclusive("kubeconfig", "listen")
	return cmd
}

func runTUI(ctx context.Context, o *tuiOptions) (err error) {
	look, err := theme.Parse(o.theme)
	if err != nil {
		return fmt.Errorf("--theme: %w", err)
	}
	logs := redirectLogs()
	defer func() { logs.restore(err == nil) }()
	screen := tui.Options{Theme: look}
	if o.kubeconfig != "" {
		if screen.CrashDir, err = logs.keepNothing(); err != nil {
			return err
		}
		return o.follow(ctx, screen, o.kubeconfig)
	}
	return serveAndShow(ctx, o, screen, logs)
}

// follow shows the screen of the server of a kubeconfig.
func (o *tuiOptions) follow(ctx context.Context, screen tui.Options, kubeconfig string) (err error) {
	screen.Kubeconfig = kubeconfig
	if screen.Config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	return o.show(ctx, screen)
}

// serveAndShow starts a server and shows its screen.
func serveAndShow(ctx context.Context, o *tuiOptions, screen tui.Options, logs *logs) error {
	if err := o.server.Validate(); err != nil {
		return err
	}
	s, err := server.Start(ctx, o.server, slog.Default())
	if err != nil {
		return fmt.Errorf("%w (to follow a kx that runs: kx tui --kubeconfig %s)", err, filepath.Join(o.server.DataDir, "kubeconfig"))
	}
	// The directory is ours now: before, the log in it may have been another's.
	if o.server.Ephemeral {
		screen.CrashDir, err = logs.keepNothing()
	} else {
		screen.CrashDir, err = o.server.DataDir, logs.keep(filepath.Join(o.server.DataDir, "tui.log"))
	}
	if err != nil {
		return errors.Join(err, stop(s, o))
	}
	// Whoever starts the server for the screen sees all there is anyway: he needn't ask with each request.
	s.Journeys.SetLevel(trace.Objects)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-s.Failed():
			cancel(err)
		case <-ctx.Done():
		}
	}()
	screen.InProcess = true
	err = o.follow(ctx, screen, s.Kubeconfig)
	return errors.Join(err, stop(s, o))
}

func stop(s *server.Server, o *tuiOptions) error {
	ctx, cancel := context.WithTimeout(context.Background(), o.server.Limits.RequestTimeout)
	defer cancel()
	return s.Stop(ctx)
}

// logs takes what would be on the terminal if the screen were not. Until it is known where to, it holds it.
type logs struct {
	mu        sync.Mutex
	held      bytes.Buffer
	file      *os.File // nil as long as it holds
	temporary bool
}

// redirectLogs makes a logs and sends all logs of the process to it.
func redirectLogs() *logs {
	l := &logs{}
	logTo(l)
	return l
}

// logTo sends the logs of slog, log and klog to w.
func logTo(w io.Writer) {
	log := slog.New(slog.NewTextHandler(w, nil))
	slog.SetDefault(log)
	klog.SetSlogLogger(log)
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return l.held.Write(p)
	}
	return l.file.Write(p)
}

// keep writes to a file of that name from now on.
func (l *logs) keep(name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	return l.to(f, err)
}

// keepNothing writes to a temporary file from now on, and returns its directory.
func (l *logs) keepNothing() (dir string, err error) {
	l.temporary = true
	f, err := os.CreateTemp("", "kx-tui-*.log")
	return os.TempDir(), l.to(f, err)
}

func (l *logs) to(f *os.File, err error) error {
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file = f
	_, err = l.held.WriteTo(f)
	return err
}

// restore sends logs to stderr again. What was held goes there too. A temporary file stays only after a failure, if it
// has something to say.
func (l *logs) restore(ok bool) {
	logTo(os.Stderr)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		_, _ = l.held.WriteTo(os.Stderr)
		return
	}
	info, err := l.file.Stat()
	l.file.Close()
	switch {
	case !l.temporary:
	case ok || err == nil && info.Size() == 0:
		os.Remove(l.file.Name())
	default:
		fmt.Fprintf(os.Stderr, "kx: the log is in %s\n", l.file.Name())
	}
}
