package controllertest

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/options"
)

// Patience is how long a test waits for what must happen.
const Patience = time.Minute

// Start starts a server that keeps its data in dir, or in the etcds if there are any, and makes no initial objects.
func Start(t *testing.T, dir string, etcds ...string) (c *kubernetes.Clientset, stop func()) {
	t.Helper()
	o := options.New()
	o.InitialObjects = false
	return StartWith(t, o, dir, etcds...)
}

// StartWith starts a server with options.
func StartWith(t *testing.T, o *options.Options, dir string, etcds ...string) (c *kubernetes.Clientset, stop func()) {
	t.Helper()
	o.DataDir, o.Listen, o.Etcd.Servers = dir, "127.0.0.1:0", etcds
	s, err := server.Start(t.Context(), o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	c, err = kubernetes.NewForConfigAndClient(config, http)
	if err != nil {
		t.Fatal(err)
	}
	stop = func() {
		utilnet.CloseIdleConnectionsFor(http.Transport) // the server would wait for them
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	}
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
