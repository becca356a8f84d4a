package controllertest

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/embedded"
)

// Patience is how long a test waits for what must happen: as long as it takes on the busiest machine.
const Patience = 5 * time.Minute

// Clients are what a server can be asked with.
type Clients struct {
	*kubernetes.Clientset
	Config  *rest.Config
	HTTP    *http.Client
	Dynamic *dynamic.DynamicClient
	// Etcd is what the server keeps its objects in. It is nil where that can't be reached.
	Etcd *clientv3.Client
}

// clientsOf makes clients that ask as often as they like.
func clientsOf(config *rest.Config) (c Clients, err error) {
	config.QPS = -1
	var errs [3]error
	c.Config = config
	c.HTTP, errs[0] = rest.HTTPClientFor(config)
	c.Clientset, errs[1] = kubernetes.NewForConfigAndClient(config, c.HTTP)
	c.Dynamic, errs[2] = dynamic.NewForConfigAndClient(config, c.HTTP)
	return c, errors.Join(errs[:]...)
}

// Serve starts a server with options. It keeps its data in dir, for a server that starts after it, or for itself if dir
// is empty, or in the etcds if there are any. Its etcd can be reached if it is its own.
func Serve(t *testing.T, o *options.Options, dir string, etcds ...string) (c Clients, stop func()) {
	t.Helper()
	c, end, err := launch(t.Context(), o, dir, etcds...)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return c, stop
}

// Shared is a server for all tests of a package that need none of their own. It starts for the first of them, and its
// TestMain must stop it. Each test works in a namespace of its own.
type Shared struct {
	// Options returns its options.
	Options func() *options.Options

	starting sync.Mutex
	clients  Clients
	err      error
	stop     func() error
}

// Clients returns clients of the server.
func (s *Shared) Clients(t *testing.T) Clients {
	t.Helper()
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.stop == nil && s.err == nil {
		s.err = s.start()
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.clients
}

func (s *Shared) start() error {
	clients, stop, err := launch(context.Background(), s.Options(), "")
	if err == nil {
		s.clients, s.stop = clients, stop
	}
	return err
}

// Stop stops the server, if it has started.
func (s *Shared) Stop() error {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.stop == nil {
		return nil
	}
	return s.stop()
}

// launch starts a server, and returns what stops it.
func launch(ctx context.Context, o *options.Options, dir string, etcds ...string) (c Clients, stop func() error, err error) {
	if dir == "" {
		// Without fsync a disk that is busy holds up no test.
		if dir, err = os.MkdirTemp("", "kx"); err != nil {
			return c, nil, err
		}
		o.Ephemeral, o.EphemeralDir = true, dir
	}
	o.DataDir, o.Listen, o.Etcd.Servers = dir, "127.0.0.1:0", etcds
	if !o.Controllers.Has(controller.ServiceAccounts) { // nobody makes accounts
		o.Admission.Disabled = append(o.Admission.Disabled, "ServiceAccount")
	}
	s, err := server.Start(ctx, o, slog.New(slog.DiscardHandler))
	if err != nil {
		return c, nil, err
	}
	stop = func() error {
		if c.HTTP != nil {
			utilnet.CloseIdleConnectionsFor(c.HTTP.Transport) // the server would wait for them
		}
		if c.Etcd != nil {
			_ = c.Etcd.Close()
		}
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		return s.Stop(ctx)
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err == nil {
		c, err = clientsOf(config)
	}
	if err == nil && len(etcds) == 0 {
		c.Etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + dir + "/etcd.sock"}})
	}
	if err != nil {
		return c, nil, errors.Join(err, stop())
	}
	return c, stop, nil
}

// ShortDir is a directory whose name leaves room for that of etcd's socket.
func ShortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Etcd starts an etcd for several servers, and returns its address. It keeps nothing.
func Etcd(t *testing.T) (endpoint string, client *clientv3.Client) {
	t.Helper()
	dir := ShortDir(t)
	config := embedded.Config{Dir: filepath.Join(dir, "etcd"), Ephemeral: true, Socket: filepath.Join(dir, embedded.SocketName)}
	etcd, err := embedded.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	client = etcd.Client()
	t.Cleanup(func() { _ = client.Close() })
	return "unix://" + config.Socket, client
}

// Await reads a watch until it has shown an object of each name.
func Await(t *testing.T, w watch.Interface, err error, names ...string) map[string]any {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	seen := map[string]any{}
	for event := range w.ResultChan() {
		m, err := meta.Accessor(event.Object)
		if err != nil {
			t.Fatalf("%v: %v", event.Object, err)
		}
		seen[m.GetName()] = event.Object
		missing := false
		for _, name := range names {
			missing = missing || seen[name] == nil
		}
		if !missing {
			return seen
		}
	}
	t.Fatalf("the watch ended; it showed %d objects, not all of %v", len(seen), names)
	return nil
}
