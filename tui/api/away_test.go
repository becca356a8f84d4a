package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// TestAway asks a server that goes away and comes back at the same address.
func TestAway(t *testing.T) {
	var starting atomic.Bool
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if starting.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		if r.URL.Path == "/cut" {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"type":`))
			return
		}
		_, _ = w.Write([]byte(`{}`))
	})
	server := httptest.NewServer(handler)
	address := server.Listener.Addr().String()
	c, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	ask := func() error { return c.Get(ctx, "/", nil, nil) }
	if err := ask(); err != nil || c.Unreachable() != nil || c.Recoveries() != 0 {
		t.Fatalf("%v, %v", err, c.Unreachable())
	}
	err = c.Watch(ctx, "/cut", nil, func(Event) error { return nil })
	var away *UnreachableError
	if !errors.As(err, &away) || away.Why != "it closed the connection" {
		t.Errorf("a watch that is cut: %v", err)
	}
	server.CloseClientConnections()
	server.Close()
	want := "the server at http://" + address + " does not answer (connection refused)"
	for range 2 {
		if err := ask(); err == nil || err.Error() != want || c.Unreachable() == nil || c.Unreachable().Error() != want {
			t.Fatalf("%v, %v", err, c.Unreachable())
		}
	}
	given, cancel := context.WithCancel(ctx)
	cancel()
	if err := c.Get(given, "/", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("who gives up: %v", err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	back := httptest.NewUnstartedServer(handler)
	back.Listener.Close()
	back.Listener = listener
	back.Start()
	defer back.Close()
	starting.Store(true)
	if err := ask(); Code(err) != http.StatusServiceUnavailable || c.Unreachable() == nil {
		t.Errorf("a server that starts: %v, %v", err, c.Unreachable())
	}
	starting.Store(false)
	for range 2 {
		if err := ask(); err != nil || c.Unreachable() != nil || c.Recoveries() != 1 {
			t.Errorf("%v, %v, %d", err, c.Unreachable(), c.Recoveries())
		}
	}
	other, err := New(&rest.Config{Host: "https://" + address})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Get(ctx, "/", nil, nil); err == nil || strings.Contains(err.Error(), `Get "`) {
		t.Errorf("not TLS: %v", err)
	}
}
