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

// Patience is how long a test waits for what must happen.
const Patience = time.Minute

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
func clientsOf(t *testing.T, config *rest.Config) (c Clients) {
	t.Helper()
	config.QPS = -1
	var errs [3]error
	c.Config = config
	c.HTTP, errs[0] = rest.HTTPClientFor(config)
	c.Clientset, errs[1] = kubernetes.NewForConfigAndClient(config, c.HTTP)
	c.Dynamic, errs[2] = dynamic.NewForConfigAndClient(config, c.HTTP)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return c
}

// Serve starts a server with options. Its etcd can be reached if it is its own.
func Serve(t *testing.T, o *options.Options, dir string, etcds ...string) (c Clients, stop func()) {
	t.Helper()
	o.DataDir, o.Listen, o.Etcd.Servers = dir, "127.0.0.1:0", etcds
	if !o.Controllers.Has(controller.ServiceAccounts) { // nobody makes accounts
		o.Admission.Disabled = append(o.Admission.Disabled, "ServiceAccount")
	}
	s, err := server.Start(t.Context(), o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c = clientsOf(t, config)
	if len(etcds) == 0 {
		if c.Etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + dir + "/etcd.sock"}}); err != nil {
			t.Fatal(err)
		}
	}
	stop = sync.OnceFunc(func() {
		utilnet.CloseIdleConnectionsFor(c.HTTP.Transport) // the server would wait for them
		if c.Etcd != nil {
			_ = c.Etcd.Close()
		}
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return c, stop
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
