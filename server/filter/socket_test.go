package filter

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"
)

const halfARequest = "POST / HTTP/1.1\r\nHost: kx\r\nContent-Length: 10\r\n\r\nhalf"

// dial sends text to a server of handler. The connection ends with the test.
func dial(t *testing.T, handler http.Handler, text string) net.Conn {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

func answer(t *testing.T, conn net.Conn) *http.Response {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func TestDeadlineEndsTheReadOfABody(t *testing.T) {
	conn := dial(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := newDeadline(r.Context(), time.Now().Add(time.Millisecond), func() { giveUpOnClient(w, r, patience) })
		defer d.stop()
		if _, err := io.ReadAll(r.Body); !errors.Is(err, os.ErrDeadlineExceeded) || !errors.Is(d.Err(), context.DeadlineExceeded) {
			t.Errorf("a body that never comes: %v, %v", err, d.Err())
		}
		w.WriteHeader(http.StatusGatewayTimeout)
	}), halfARequest)
	if res := answer(t, conn); res.StatusCode != http.StatusGatewayTimeout {
		t.Errorf("after the deadline: %s", res.Status)
	}
}

func TestRestOfABodyIsNotWaitedForForEver(t *testing.T) {
	conn := dial(t, withSocketLimits(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}), time.Millisecond), halfARequest)
	if res := answer(t, conn); res.StatusCode != http.StatusUnauthorized || !res.Close {
		t.Errorf("without the rest of the body: %s, closes: %v", res.Status, res.Close)
	}
}

func TestDeadlineEndsWrites(t *testing.T) {
	done := make(chan error, 1)
	dial(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		giveUpOnClient(w, r, time.Millisecond)
		var err error
		for err == nil { // until all buffers are full
			_, err = w.Write(make([]byte, 1<<20))
		}
		done <- err
	}), "GET / HTTP/1.1\r\nHost: kx\r\n\r\n")
	if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a client that does not read: %v", err)
	}
}

func TestStoppedDeadlineDoesNothing(t *testing.T) {
	d := newDeadline(t.Context(), time.Now().Add(time.Hour), func() { t.Error("expired after its end") })
	d.Pause()
	d.stop()
	d.Resume()
	d.expire()
	if !errors.Is(d.Err(), context.Canceled) {
		t.Errorf("after its end: %v", d.Err())
	}
}

func TestStrangersKeepNoConnectionOfHTTP2(t *testing.T) {
	d := newDoor(t, hello, nil)
	chain := BuildHandlerChain(http.HandlerFunc(hello), d.config)
	for _, tc := range []struct {
		path, token string
		major       int
		code        int
		connection  string
	}{
		{"/healthz", "", 2, http.StatusOK, "close"},
		{"/api", "", 2, http.StatusForbidden, "close"},
		{"/api", "x", 2, http.StatusUnauthorized, "close"},
		{"/healthz", "", 1, http.StatusOK, ""},
		{"/healthz", userToken, 2, http.StatusOK, ""},
	} {
		r := httptest.NewRequest(http.MethodGet, tc.path, nil)
		r.ProtoMajor = tc.major
		if tc.token != "" {
			r.Header.Set("Authorization", "Bearer "+tc.token)
		}
		w := httptest.NewRecorder()
		chain.ServeHTTP(w, r)
		if got := w.Header().Get("Connection"); w.Code != tc.code || got != tc.connection {
			t.Errorf("%+v: %d, Connection: %q", tc, w.Code, got)
		}
	}
}
