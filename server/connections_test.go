package server_test

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/server/options"
)

// TestConnectionsAreBounded opens as many connections as there may be, and one more.
func TestConnectionsAreBounded(t *testing.T) {
	const most = 4
	r := start(t, func(o *options.Options) { o.Limits.MaxConnections = most })
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL, "https://"))
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	client := r.httpClient(t) // HTTP/2: one connection for all
	metric := func(name string) (value string) {
		_, body := ask(t, client, "GET", r.URL+"/metrics", nil)
		for line := range strings.Lines(string(body)) {
			if text, ok := strings.CutPrefix(line, name+" "); ok {
				value = strings.TrimSpace(text)
			}
		}
		return value
	}
	metric("kx_connections")
	var first net.Conn
	for i := range most - 1 {
		if conn := dial(); i == 0 {
			first = conn
		}
	}
	refused := metric("kx_refused_connections_total")
	// The server closes it without a word. A connection that it has taken waits for the client.
	if n, err := dial().Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("one connection too many read %d bytes: %v", n, err)
	}
	if again := metric("kx_refused_connections_total"); again == refused {
		t.Errorf("%s connections were refused, as before", again)
	}
	must(t, first.Close())
	for { // until the server has seen that it is closed
		conn := dial()
		_, _ = conn.Write([]byte("GET / HTTP/1.0\r\n\r\n")) // is told that this is HTTPS
		if answer, _ := io.ReadAll(conn); len(answer) > 0 {
			break
		}
	}
}
