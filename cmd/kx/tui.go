package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"

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
	logs, err := openLog(o)
	if err != nil {
		return err
	}
	defer func() { logs.close(err == nil) }()
	screen := tui.Options{Theme: look, CrashDir: logs.crashDir}
	if o.kubeconfig != "" {
		return o.follow(ctx, screen, o.kubeconfig)
	}
	return serveAndShow(ctx, o, screen, logs.log)
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
func serveAndShow(ctx context.Context, o *tuiOptions, screen tui.Options, log *slog.Logger) error {
	if err := o.server.Validate(); err != nil {
		return err
	}
	s, err := server.Start(ctx, o.server, log)
	if err != nil {
		return fmt.Errorf("%w (to follow a kx that runs: kx tui --kubeconfig %s)", err, filepath.Join(o.server.DataDir, "kubeconfig"))
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
	stopCtx, stop := context.WithTimeout(context.Background(), o.server.Limits.RequestTimeout)
	defer stop()
	return errors.Join(err, s.Stop(stopCtx))
}

// logs is where everything is written that would be on the terminal if the screen were not.
type logs struct {
	log      *slog.Logger
	file     *os.File
	crashDir string
	keep     bool
}

// openLog sends the logs to a file: in the data directory, or, if nothing is to be kept, in a temporary one.
func openLog(o *tuiOptions) (*logs, error) {
	l := &logs{crashDir: os.TempDir()}
	var err error
	if o.kubeconfig != "" || o.server.Ephemeral {
		l.file, err = os.CreateTemp("", "kx-tui-*.log")
	} else {
		l.keep, l.crashDir = true, o.server.DataDir
		if err = os.MkdirAll(o.server.DataDir, 0o700); err == nil {
			l.file, err = os.OpenFile(filepath.Join(o.server.DataDir, "tui.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the log: %w; choose another directory with --data-dir", err)
	}
	l.log = slog.New(slog.NewTextHandler(l.file, nil))
	slog.SetDefault(l.log) // log's default goes there too
	klog.SetSlogLogger(l.log)
	return l, nil
}

// close gives the terminal back. A temporary log stays only after a failure.
func (l *logs) close(ok bool) {
	back := slog.New(slog.NewTextHandler(os.Stderr, nil))
	slog.SetDefault(back)
	klog.SetSlogLogger(back)
	log.SetOutput(os.Stderr)
	l.file.Close()
	if ok && !l.keep {
		os.Remove(l.file.Name())
	}
}
