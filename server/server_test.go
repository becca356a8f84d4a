package server_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

// stopLimit is how long a server may take to stop.
const stopLimit = 3 * time.Minute

// libraries has the warnings and errors of libraries, which log to one logger of the process.
var libraries = &log{}

// TestMain stops the server that tests share, and looks for what any server left behind. Of what libraries log only warnings and errors
// are shown, as kx serve has it: lines about the beginnings and ends of a hundred servers would hide a failure.
func TestMain(m *testing.M) {
	if collector := os.Getenv(tracedCollector); collector != "" {
		if err := beTracedEtcd(collector); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(io.MultiWriter(os.Stderr, libraries), &slog.HandlerOptions{Level: slog.LevelWarn})))
	embedtest.AtOnce(8)
	code := m.Run()
	if stopShared != nil {
		stopShared()
	}
	// A connection of SPDY may wait a second for somebody who asks why it could not be closed.
	closed := goleak.IgnoreAnyFunction("github.com/moby/spdystream.(*Connection).shutdown")
	if code == 0 {
		if err := leaks(closed); err != nil {
			fmt.Fprintln(os.Stderr, "servers that have stopped left something behind:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// leaks looks for goroutines that go on. On a busy machine some take longer to end than goleak waits.
func leaks(options ...goleak.Option) error {
	for deadline := time.Now().Add(time.Minute); ; {
		if err := goleak.Find(options...); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// running is a server, and its administrator's way in.
type running struct {
	*server.Server
	options *options.Options
	config  *rest.Config
}

// launch starts a server. The caller must call stop.
func launch(edit ...func(*options.Options)) (r *running, stop func() error, err error) {
	return launchWith(nil, edit...)
}

// launchWith starts a server that serves groups of its own.
func launchWith(own []endpoint.RESTStorageProvider, edit ...func(*options.Options)) (r *running, stop func() error, err error) {
	return launchLogging(slog.New(slog.DiscardHandler), own, edit...)
}

func launchLogging(log *slog.Logger, own []endpoint.RESTStorageProvider, edit ...func(*options.Options)) (r *running, stop func() error, err error) {
	o := options.New()
	o.Ephemeral, o.Listen, o.InitialObjects = true, "127.0.0.1:0", false
	// Others write between two requests of a client, which are to be seen as they are alone.
	o.Controllers = controller.Selection{controller.Garbage, controller.Namespace}
	o.Admission.Disabled = []string{"ServiceAccount"} // nobody makes accounts
	o.Limits.RequestTimeout = patience                // a busy machine and the race detector make a request slow
	for _, e := range edit {
		e(o)
	}
	if err := o.Validate(); err != nil {
		return nil, nil, err
	}
	s, err := server.Start(context.Background(), o, log, own...)
	if err != nil {
		return nil, nil, err
	}
	r = &running{Server: s, options: o}
	if r.config, err = clientcmd.BuildConfigFromFlags("", s.Kubeconfig); err != nil {
		return nil, nil, err
	}
	r.config.QPS = -1
	return r, func() error {
		if client, err := rest.HTTPClientFor(r.config); err == nil {
			utilnet.CloseIdleConnectionsFor(client.Transport) // clients of one configuration share their connections
		}
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		return s.Stop(ctx)
	}, nil
}

// start starts a server that stops with the test.
func start(t testing.TB, edit ...func(*options.Options)) *running {
	t.Helper()
	r, stop, err := launch(edit...)
	must(t, err)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

var (
	stopShared  func()
	startShared = sync.OnceValues(func() (*running, error) {
		r, stop, err := launch(func(o *options.Options) {
			o.RuntimeConfig = map[string]string{"apps/v1beta1": "true", "apps/v1beta2": "true"}
		})
		stopShared = func() {
			if err := stop(); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
		return r, err
	})
)

// shared is the server of all tests that need no other. Each works in a namespace of its own.
func shared(t testing.TB) *running {
	t.Helper()
	r, err := startShared()
	must(t, err)
	return r
}

// admin is a client of the server's administrator.
func (r *running) admin(t testing.TB) *kubernetes.Clientset {
	t.Helper()
	c, err := kubernetes.NewForConfig(r.config)
	must(t, err)
	return c
}

// httpClient is the administrator's, and asks for no compression by itself.
func (r *running) httpClient(t testing.TB) *http.Client {
	t.Helper()
	config := rest.CopyConfig(r.config)
	config.DisableCompression = true
	c, err := rest.HTTPClientFor(config)
	must(t, err)
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(c.Transport) })
	return c
}

// tokenClient is a client that shows a token of the token file.
func (r *running) tokenClient(t testing.TB, token string) *http.Client {
	t.Helper()
	config := rest.AnonymousClientConfig(r.config)
	config.DisableCompression, config.BearerToken = true, token
	c, err := rest.HTTPClientFor(config)
	must(t, err)
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(c.Transport) })
	return c
}

// anyone is a client without credentials.
func (r *running) anyone(t testing.TB) *http.Client {
	t.Helper()
	config := rest.AnonymousClientConfig(r.config)
	config.DisableCompression = true
	c, err := rest.HTTPClientFor(config)
	must(t, err)
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(c.Transport) })
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
