package server_test

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/options"
)

// TestConnectionsAreBounded opens as many connections as there may be, and more.
func TestConnectionsAreBounded(t *testing.T) {
	const most = 4
	r := start(t, func(o *options.Options) { o.Limits.MaxConnections = most })
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL, "https://"))
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	alone := func() *http.Client { // a client with connections of its own
		config, err := rest.TLSConfigFor(r.config)
		must(t, err)
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
		t.Cleanup(c.CloseIdleConnections)
		return c
	}
	first := alone()
	metric := func(name string) (value string) {
		_, body := ask(t, first, "GET", r.URL+"/metrics", nil)
		for line := range strings.Lines(string(body)) {
			if text, ok := strings.CutPrefix(line, name+" "); ok {
				value = strings.TrimSpace(text)
			}
		}
		return value
	}
	const refused = "kx_refused_connections_total"
	if open, closed := metric("kx_connections"), metric(refused); open != "1" || closed != "0" {
		t.Fatalf("%s connections are open, %s were closed", open, closed)
	}
	// A client may see that a connection was closed before the server has counted that, and the newest one.
	counted := func(open, closed string) {
		t.Helper()
		until(t, open+" connections are open, and "+closed+" were closed", func() bool {
			return metric("kx_connections") == open && metric(refused) == closed
		})
	}
	var silent []net.Conn
	for range most { // one too many
		silent = append(silent, dial())
	}
	closed := func(conn net.Conn) bool {
		n, err := conn.Read(make([]byte, 1))
		return n == 0 && err != nil
	}
	if !closed(silent[0]) {
		t.Error("the oldest that has sent nothing did not give its place to the newest")
	}
	counted("4", "1")
	// Others come in although those that are silent have every other place, until all have asked.
	for range most - 1 {
		ask(t, alone(), "GET", r.URL+"/readyz", nil)
	}
	for i, conn := range silent[1:] {
		if !closed(conn) {
			t.Errorf("silent connection %d was not closed", i+1)
		}
	}
	if !closed(dial()) {
		t.Error("the newest was not closed, although all others have sent a request")
	}
	counted("4", "5")
	first.CloseIdleConnections() // its place is free
	until(t, "a new client is served", func() bool {
		res, err := alone().Get(r.URL + "/livez")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}
