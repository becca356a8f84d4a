package kubectl

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/kx-apiserver/kx/cmd/kx/internal/join"
)

// ExitError is the exit code of a command that has already printed its error.
type ExitError int

func (e ExitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// warningCounter prints the warnings of servers, and counts them.
type warningCounter interface {
	rest.WarningHandler
	WarningCount() int
}

// wiring connects kubectl's code with a server: it finds the server, changes requests, and ends the command. A
// process runs one command, so it has one wiring. find sets place and findErr once. cacheLock guards cached and
// mapper.
type wiring struct {
	parent   string // the name of the command above
	dataDir  string
	streams  Streams
	flags    *genericclioptions.ConfigFlags
	warnings warningCounter

	warningsAsErrors bool
	trace            traceFlag
	at               atFlag
	conflicts        conflictsFlag
	waiting          waitNotice
	again            retryNotice
	missing          missingResource

	find      sync.Once
	place     *join.Place // nil for a server elsewhere
	findErr   error
	cached    discovery.CachedDiscoveryInterface // in memory, with place
	mapper    meta.RESTMapper
	cacheLock sync.Mutex

	ended chan int // the exit code of the running command; nil without one
}

func newWiring(dataDir string, streams Streams) *wiring {
	w := &wiring{parent: ours, dataDir: dataDir, streams: streams}
	w.flags = genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().
		WithDiscoveryBurst(discoveryBurst).WithDiscoveryQPS(discoveryQPS).WithWarningPrinter(streams).
		WithWrapConfigFn(w.wrapConfig)
	w.warnings = rest.NewWarningWriter(streams.ErrOut, rest.WarningWriterOptions{
		Deduplicate: true, Color: printers.AllowsColorOutput(streams.ErrOut),
	})
	return w
}

// The limits for discovery are kubectl's.
const (
	discoveryBurst = 300
	discoveryQPS   = 50
)

// factory makes the factory for kubectl's commands and adds their common flags.
func (w *wiring) factory(flags *pflag.FlagSet) cmdutil.Factory {
	w.flags.AddFlags(flags)
	flags.BoolVar(&w.warningsAsErrors, "warnings-as-errors", false,
		"Treat warnings received from the server as errors and exit with a non-zero exit code")
	matching := cmdutil.NewMatchVersionFlags(w)
	matching.AddFlags(flags)
	return kxFactory{cmdutil.NewFactory(matching), w}
}

// prepare finds the server at the command's first use of it.
func (w *wiring) prepare() error {
	w.find.Do(func() {
		if w.parent == theirs || *w.flags.APIServer != "" || join.SelectsOther(w.dataDir, *w.flags.KubeConfig) {
			return
		}
		code := 0
		w.place, code, w.findErr = join.Find(context.Background(), w.dataDir, w.say)
		if w.place == nil && w.findErr == nil {
			w.exit(code) // the command has run in another process
		}
		if w.findErr == nil {
			*w.flags.KubeConfig, *w.flags.APIServer = w.place.Kubeconfig, w.place.Server
			w.findErr = w.checkContext()
		}
	})
	return w.findErr
}

// checkContext returns an error if the kubeconfig of the data directory has no current context. Without this check,
// kubectl's code would prompt for a user name.
func (w *wiring) checkContext() error {
	if *w.flags.Context != "" || *w.flags.AuthInfoName != "" || *w.flags.BearerToken != "" {
		return nil
	}
	config, err := clientcmd.LoadFromFile(w.place.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	if config.Contexts[config.CurrentContext] != nil {
		return nil
	}
	return fmt.Errorf("%s has no current context: choose one with kx config use-context, of %s", w.place.Kubeconfig,
		strings.Join(slices.Sorted(maps.Keys(config.Contexts)), ", "))
}

// say prints one of kx's own messages.
func (w *wiring) say(text string) { fmt.Fprintf(w.streams.ErrOut, "kx: %s\n", text) }

// ToRESTConfig returns the configuration of the server that prepare finds.
func (w *wiring) ToRESTConfig() (*rest.Config, error) {
	if err := w.prepare(); err != nil {
		return nil, err
	}
	return w.flags.ToRESTConfig()
}

// ToRawKubeConfigLoader loads the kubeconfig of the server that prepare finds.
func (w *wiring) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	_ = w.prepare() // the next request returns the error
	return w.flags.ToRawKubeConfigLoader()
}

// ToDiscoveryClient caches discovery in memory, and not on disk, for the server of a data directory: another server
// may have its address tomorrow. Discovery takes only two requests.
func (w *wiring) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	config, err := w.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	if w.place == nil {
		return w.flags.ToDiscoveryClient()
	}
	w.cacheLock.Lock()
	defer w.cacheLock.Unlock()
	if w.cached == nil {
		client, err := discovery.NewDiscoveryClientForConfig(config)
		if err != nil {
			return nil, err
		}
		w.cached = memory.NewMemCacheClient(client)
	}
	return w.cached, nil
}

// ToRESTMapper maps kinds and resources by discovery.
func (w *wiring) ToRESTMapper() (meta.RESTMapper, error) {
	client, err := w.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	if w.place == nil {
		return w.flags.ToRESTMapper()
	}
	w.cacheLock.Lock()
	defer w.cacheLock.Unlock()
	if w.mapper == nil {
		w.mapper = restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(client), client, w.say)
	}
	return w.mapper, nil
}

// wrap returns a RunE that runs one of kubectl's commands.
func (w *wiring) wrap(run func(*cobra.Command, []string), runE func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := w.check(); err != nil {
			return err
		}
		rest.SetDefaultWarningHandler(w.warnings)
		// The buffer has room for the exit codes of the command and of a goroutine that it left behind.
		w.ended = make(chan int, 2)
		cmdutil.BehaviorOnFatal(w.fatal)
		defer cmdutil.DefaultBehaviorOnFatal()
		go func() {
			code := 0
			if runE == nil {
				run(cmd, args)
			} else if err := runE(cmd, args); err != nil {
				cmdutil.CheckErr(err)
			}
			w.ended <- code
		}()
		return w.finish(<-w.ended)
	}
}

// check validates the flags that kx adds.
func (w *wiring) check() error {
	if err := w.trace.check(); err != nil {
		return err
	}
	return w.at.check()
}

// finish prints the messages and journeys that follow a command's own output.
func (w *wiring) finish(code int) error {
	if n := w.warnings.WarningCount(); code == 0 && w.warningsAsErrors && n > 0 {
		fmt.Fprintf(w.streams.ErrOut, "error: %s received\n", count(n, "warning"))
		code = 1
	}
	if code != 0 {
		w.missing.explain(w)
	}
	w.conflicts.explain(w)
	w.trace.show(w)
	if w.place != nil {
		w.place.Leave()
	}
	if code != 0 {
		return ExitError(code)
	}
	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// fatal replaces kubectl's exit of the process.
func (w *wiring) fatal(message string, code int) {
	if message != "" {
		if !strings.HasSuffix(message, "\n") {
			message += "\n"
		}
		_, _ = io.WriteString(w.streams.ErrOut, message)
	}
	w.exit(code)
}

// exit ends the command with a code, and does not return.
func (w *wiring) exit(code int) {
	if w.ended == nil {
		os.Exit(code) // completion runs outside wrap
	}
	select {
	case w.ended <- code:
	default: // the command has ended already
	}
	runtime.Goexit()
}
