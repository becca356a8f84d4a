package controllertest

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
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
)

// Patience is how long a test waits for what must happen: as long as it takes on the busiest machine.
const Patience = 5 * time.Minute

// Start starts a server that keeps its data in dir, or in the etcds if there are any, and makes no objects by itself.
func Start(t *testing.T, dir string, etcds ...string) (c *kubernetes.Clientset, stop func()) {
	t.Helper()
	o := options.New()
	o.InitialObjects, o.Controllers = false, controller.Selection{"*", "-" + controller.ServiceAccounts, "-" + controller.RootCA}
	return StartWith(t, o, dir, etcds...)
}

// StartWith starts a server with options.
func StartWith(t *testing.T, o *options.Options, dir string, etcds ...string) (c *kubernetes.Clientset, stop func()) {
	t.Helper()
	clients, stop := Serve(t, o, dir, etcds...)
	return clients.Clientset, stop
}

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

// Serve starts a server with options. Its etcd can be reached if it is its own.
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

// Shared is a server for all tests of a package that need none of their own. It starts for the first of them, and its TestMain must stop
// it. Each test works in a namespace of its own.
type Shared struct {
	// Change changes the options of a server that makes no objects by itself.
	Change func(*options.Options)

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
	dir, err := os.MkdirTemp("", "kx")
	if err != nil {
		return err
	}
	o := options.New()
	o.InitialObjects = false
	if s.Change != nil {
		s.Change(o)
	}
	clients, stop, err := launch(context.Background(), o, dir)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	s.clients, s.stop = clients, func() error { return errors.Join(stop(), os.RemoveAll(dir)) }
	return nil
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
