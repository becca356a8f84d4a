package aggregator_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestReset: a message that has the port of a connection would be another one after each check.
func TestReset(t *testing.T) {
	t.Parallel()
	s := create(t, serve(t), "reset", conditions)
	s.serve(func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			err = connection.(*tls.Conn).NetConn().(*net.TCPConn).SetLinger(0)
		}
		if err == nil {
			err = connection.(*tls.Conn).NetConn().Close()
		}
		if err != nil {
			t.Error(err)
		}
	}, nil)
	s.AwaitPart("connection reset by peer")
	for _, line := range conditions(s.Stage) {
		if strings.Contains(line, "->") {
			t.Errorf("it names the local address: %s", line)
		}
	}
}
