package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/cmd/kx/internal/join"
	"github.com/kx-apiserver/kx/cmd/kx/internal/proc"
	"github.com/kx-apiserver/kx/core/capture"
	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/tui"
	"github.com/kx-apiserver/kx/tui/logs"
	"github.com/kx-apiserver/kx/tui/theme"
)

// themeVariable is the environment variable for the theme. The flag overrides it.
const themeVariable = "KX_THEME"

// tuiOptions are the flags of kx tui.
type tuiOptions struct {
	server *options.Options
	// anyPort lets the server listen on a free port if the default port is busy. It is set unless the user gave
	// --listen.
	anyPort    bool
	kubeconfig string
	context    string
	saved      string
	theme      string
	language   lang.Language
	linear     bool

	// show shows the screen until the user leaves it.
	show func(context.Context, tui.Options) error
}

func newTUICommand() *cobra.Command {
	o := &tuiOptions{server: options.New(), theme: os.Getenv(themeVariable), show: tui.Run}
	cmd := &cobra.Command{
		Use:   "tui",
		Short: "Serve the API and follow its requests on a screen, step by step",
		Long: `Serve the Kubernetes API from this process and follow its requests on a screen: which code each went through,
how long it took, and why it went that way. If a kx runs on the data directory already, follow that one. With
--kubeconfig, follow a kx that runs elsewhere; with -r, look at requests that were saved, without a server.

On the screen, ? lists the keys, : all commands, and q quits. A server of this process ends with the screen; what it
stored stays. It lets administrators hold requests at a step, with breakpoints, and make them fail, with faults.`,
		Example: `  kx tui                               # keys, kubeconfig and data in ~/.kx
  kx tui --ephemeral                   # keep nothing
  kx tui --kubeconfig ./elsewhere      # follow a kx that runs elsewhere
  kx tui --context class               # of a context of your kubeconfig
  kx tui -r kx.ndjson                  # look at what kx trace save, or w on the screen, saved
  kx tui -r way.html                   # or kx trace export -o html
  kx tui --linear                      # lines that are only added, and commands by name: for a screen reader`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.linear {
				o.show = func(ctx context.Context, screen tui.Options) error {
					// ctrl+c is a key on a screen, and here a signal: a server of this process has to stop in order.
					signalled, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
					defer stop()
					err := showLinear(signalled, screen, cmd.InOrStdin(), cmd.OutOrStdout())
					if signalled.Err() != nil && ctx.Err() == nil {
						return nil // as after quit
					}
					return err
				}
			} else if err := tui.CheckTerminal(); err != nil {
				return err
			}
			if o.server.Ephemeral && !cmd.Flags().Changed("listen") {
				o.server.Listen = "127.0.0.1:0" // it cannot conflict with another server
			}
			o.anyPort = !cmd.Flags().Changed("listen")
			return runTUI(cmd.Context(), o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.server.DataDir, "data-dir", o.server.DataDir, "directory for keys, kubeconfig and the embedded etcd's data")
	fs.BoolVar(&o.server.Ephemeral, "ephemeral", o.server.Ephemeral, "keep everything in a temporary directory and leave nothing")
	fs.StringVar(&o.server.Listen, "listen", o.server.Listen, "address to serve on; port 0 picks a free one, as does --ephemeral")
	fs.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig, "follow the server of this kubeconfig, and start none")
	fs.StringVar(&o.context, "context", o.context, "follow the server of this context of the kubeconfig, and start none")
	fs.StringVarP(&o.saved, "read", "r", o.saved, "look at the requests of a capture, or of a page of kx trace export, and start no server")
	languageVar(cmd, &o.language)
	fs.BoolVar(&o.linear, "linear", false, "write lines that are only ever added, and take commands by name, for a screen reader; "+
		"needs no terminal")
	fs.StringVar(&o.theme, "theme", o.theme, "auto, dark, light, high-contrast, "+
		"colour-blind or none, or a file of your own colours (default $"+themeVariable+", or what was chosen last)")
	for _, one := range []string{"data-dir", "ephemeral", "listen", "read"} {
		cmd.MarkFlagsMutuallyExclusive("kubeconfig", one)
		cmd.MarkFlagsMutuallyExclusive("context", one)
	}
	for _, one := range []string{"data-dir", "ephemeral", "listen"} {
		cmd.MarkFlagsMutuallyExclusive("read", one)
	}
	return cmd
}

func runTUI(ctx context.Context, o *tuiOptions) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP) // the terminal was closed: clean up
	defer stop()
	screen := tui.Options{Language: o.language, Reasons: server.Reasons(), Log: &logs.Tail{}, Export: exportOnScreen}
	if screen.Theme, screen.Skin, err = themeOf(o.theme); err != nil {
		return fmt.Errorf("--theme: %w", err)
	}
	if config, err := os.UserConfigDir(); err == nil {
		screen.KeysFile = filepath.Join(config, "kx", "keys.yaml")
	}
	taken := takeLogs(screen.Log)
	defer func() { taken.restore(err == nil) }()
	elsewhere := o.kubeconfig != "" || o.context != ""
	own := o.saved == "" && !elsewhere
	if own && !o.server.Ephemeral {
		screen.CrashDir = o.server.DataDir
	} else if screen.CrashDir, err = taken.keepNothing(); err != nil {
		return err
	}
	if !o.server.Ephemeral {
		screen.StateFile = filepath.Join(o.server.DataDir, "tui.json")
	}
	switch {
	case o.saved != "":
		if screen.Saved, err = readSaved(o.saved, memoryMost); err != nil {
			return err
		}
	case elsewhere:
		config, file, err := clientOf(o.kubeconfig, o.context)
		if err != nil {
			return err
		}
		join.LimitPlugins(config, complain)
		screen.Start = func(context.Context) (tui.Server, error) {
			return tui.Server{Config: config, Kubeconfig: file, Context: o.context}, nil
		}
	default:
		return serveAndShow(ctx, o, screen, taken)
	}
	return o.show(ctx, screen)
}

// themeOf returns the theme of a name, or of a file: a name with a dot or a separator is one.
func themeOf(name string) (theme.Name, *theme.Skin, error) {
	if !strings.ContainsAny(name, "./"+string(filepath.Separator)) {
		found, err := theme.Parse(name)
		if err != nil {
			return "", nil, fmt.Errorf("%w, or a file of your own colours, such as ./mine.yaml", err)
		}
		return found, nil, nil
	}
	skin, err := theme.ReadSkin(name)
	return theme.Own, skin, err
}

// clientOf returns the client configuration of a context, or else of the current one, with the file that other programs
// need to reach the server; without a kubeconfig it is the user's.
func clientOf(kubeconfig, name string) (config *rest.Config, file string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: name})
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	if name != "" && raw.Contexts[name] == nil {
		all := slices.Sorted(maps.Keys(raw.Contexts))
		return nil, "", &noContextError{name, filter.Near(name, all), all}
	}
	if config, err = loader.ClientConfig(); err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	return config, kubeconfig, nil
}

// noContextError says that the kubeconfig has no context of a name.
type noContextError struct {
	name      string
	near, all []string
}

func (e *noContextError) Error() string {
	near := e.near
	if len(near) == 0 {
		near = e.all
	}
	if len(near) == 0 {
		return fmt.Sprintf("--context %s: the kubeconfig has no contexts; --kubeconfig names another file", e.name)
	}
	return fmt.Sprintf("--context %s: the kubeconfig has no such context; it has %s", e.name, strings.Join(near, ", "))
}

// readSaved reads a capture. If it is too long, or needs more memory than most, it keeps only the newest journeys.
func readSaved(file string, most int64) (*tui.Capture, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("open the capture: %w", err)
	}
	defer f.Close()
	reader, err := capture.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	saved, size := &tui.Capture{File: file}, int64(0)
	for {
		j, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return saved, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		saved.Journeys = append(saved.Journeys, j)
		for size += capture.Size(j); len(saved.Journeys) > 1 && (len(saved.Journeys) > tui.SavedMost || size > most); saved.Dropped++ {
			size -= capture.Size(saved.Journeys[0])
			saved.Journeys[0] = nil // frees the journey, which the array still refers to
			saved.Journeys = saved.Journeys[1:]
		}
	}
}

// serveAndShow shows the screen for the server of a data directory, and starts the server if none runs.
func serveAndShow(ctx context.Context, o *tuiOptions, screen tui.Options, taken *logCapture) error {
	if err := o.server.Validate(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	own := &ownServer{options: o.server, anyPort: o.anyPort, log: taken, fail: cancel}
	screen.Start = own.start
	err := o.show(ctx, screen)
	cancel(nil) // ends a running start
	return errors.Join(err, own.stop())
}

// ownServer is the screen's server on a data directory: it runs in this process, or belongs to another process. mu
// guards server and place.
type ownServer struct {
	options *options.Options
	anyPort bool
	log     *logCapture
	fail    context.CancelCauseFunc // called if the server fails

	mu     sync.Mutex
	server *server.Server
	place  *join.Place
}

// start joins the server that owns the data directory, or starts one.
func (o *ownServer) start(ctx context.Context) (tui.Server, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return tui.Server{}, err
	}
	if !o.options.Ephemeral {
		found, err := o.join()
		if err == nil || !errors.Is(err, join.ErrNone) {
			return found, err
		}
	}
	return o.serve(ctx)
}

// join joins the server that owns the data directory. A server that was started for one command stays until all that
// joined have left.
func (o *ownServer) join() (tui.Server, error) {
	place, err := join.JoinRunning(o.options.DataDir)
	if err != nil {
		return tui.Server{}, err
	}
	o.place = place
	if _, err := o.log.keepNothing(); err != nil { // the log in the directory belongs to the other process
		return tui.Server{}, err
	}
	config, err := clientcmd.BuildConfigFromFlags(place.Server, place.Kubeconfig)
	if err != nil {
		return tui.Server{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return tui.Server{Config: config, Kubeconfig: place.Kubeconfig}, nil
}

// serve starts a server in this process.
func (o *ownServer) serve(ctx context.Context) (tui.Server, error) {
	// The user who starts the server may hold and disturb its requests.
	o.options.Allow = options.Allow{Breakpoints: options.Always, Faults: options.Always, Objects: true}
	s, note, err := o.launch(ctx)
	if errors.Is(err, identity.ErrInUse) {
		return o.await(ctx, err)
	}
	if err != nil {
		return tui.Server{}, err
	}
	o.server = s
	go proc.GiveBackMemory(ctx)
	if !o.options.Ephemeral {
		if err := o.log.keep(filepath.Join(o.options.DataDir, "tui.log")); err != nil {
			return tui.Server{}, err
		}
	}
	go func() {
		select {
		case err := <-s.Failed():
			o.fail(err)
		case <-ctx.Done():
		}
	}()
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return tui.Server{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return tui.Server{Config: config, Kubeconfig: s.Kubeconfig, InProcess: true, Note: note}, nil
}

// launch starts the server. If the port is busy and anyPort is set, it uses a free one, and the note names it.
func (o *ownServer) launch(ctx context.Context) (s *server.Server, note string, err error) {
	s, err = server.Start(ctx, o.options, slog.Default())
	if !o.anyPort || !isBusy(err) {
		return s, "", err
	}
	busy, elsewhere := o.options.Listen, *o.options
	host, _, err := net.SplitHostPort(busy)
	if err != nil {
		return nil, "", fmt.Errorf("read the address %s: %w", busy, err)
	}
	elsewhere.Listen = net.JoinHostPort(host, "0")
	if s, err = server.Start(ctx, &elsewhere, slog.Default()); err != nil {
		return nil, "", err
	}
	return s, fmt.Sprintf("%s is busy: this server is at %s", busy, s.URL), nil
}

// isBusy reports whether the address is in use by another process.
func isBusy(err error) bool {
	const onWindows = syscall.Errno(10048)
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, onWindows)
}

const (
	// awaitMost limits the wait for the server of another process that has locked the directory.
	awaitMost = 10 * time.Second
	awaitStep = 20 * time.Millisecond
)

// await joins the server of the process that owns the data directory, as soon as it answers.
func (o *ownServer) await(ctx context.Context, inUse error) (tui.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, awaitMost)
	defer cancel()
	for {
		select {
		case <-time.After(awaitStep):
		case <-ctx.Done():
			return tui.Server{}, inUse
		}
		if found, err := o.join(); err == nil || !errors.Is(err, join.ErrNone) {
			return found, err
		}
	}
}

// stop stops a server of this process, and leaves a server of another process.
func (o *ownServer) stop() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.place != nil {
		o.place.Leave()
	}
	if o.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.options.Limits.RequestTimeout)
	defer cancel()
	return o.server.Stop(ctx)
}

// logCapture keeps the logs of the process off the screen. It holds them in memory until keep or keepNothing names a
// file. mu guards held and file.
type logCapture struct {
	mu        sync.Mutex
	held      bytes.Buffer
	file      *os.File // nil while the logs are held
	temporary bool
}

// takeLogs sends all logs of the process to tail and to the capture.
func takeLogs(tail io.Writer) *logCapture {
	l := &logCapture{}
	logTo(io.MultiWriter(l, tail))
	return l
}

// logTo sends the logs of slog, log and klog to w.
func logTo(w io.Writer) {
	log := slog.New(slog.NewTextHandler(w, nil))
	slog.SetDefault(log)
	proc.SendLogs(log.Handler())
}

func (l *logCapture) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return l.held.Write(p)
	}
	return l.file.Write(p)
}

// keep writes the logs to the named file from now on.
func (l *logCapture) keep(name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	return l.redirect(f, err)
}

// keepNothing writes the logs to a temporary file from now on, and returns the directory of temporary files.
func (l *logCapture) keepNothing() (dir string, err error) {
	l.temporary = true
	f, err := os.CreateTemp("", "kx-tui-*.log")
	return os.TempDir(), l.redirect(f, err)
}

func (l *logCapture) redirect(f *os.File, err error) error {
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file = f
	_, err = l.held.WriteTo(f)
	return err
}

// restore sends the logs to stderr again, first those still held. A temporary file is kept only after a failure, if it
// is not empty.
func (l *logCapture) restore(ok bool) {
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
