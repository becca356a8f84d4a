package health

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestEndpoint(t *testing.T) {
	ready := errors.New("etcd: secret-host is down")
	checks := []Check{Ping, {"etcd", func(context.Context) error { return ready }}}
	e := NewEndpoint("/readyz", slog.New(slog.DiscardHandler), checks...)
	get := func(target string) (int, string) {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		return w.Code, w.Body.String()
	}
	tests := []struct {
		target   string
		failing  bool
		wantCode int
		want     string
	}{
		{"/readyz", false, 200, "ok"},
		{"/readyz?verbose", false, 200, "[+]ping ok\n[+]etcd ok\nreadyz check passed\n"},
		{"/readyz/etcd", false, 200, "ok"},
		{"/readyz/none", false, 404, "404 page not found\n"},
		{"/readyz", true, 500, "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n"},
		{"/readyz/etcd", true, 500, "internal server error: reason withheld\n"},
		{"/readyz/ping", true, 200, "ok"},
		{"/readyz?exclude=etcd", true, 200, "ok"},
		{"/readyz?exclude=etcd&verbose", true, 200, "[+]ping ok\n[+]etcd excluded: ok\nreadyz check passed\n"},
		{"/readyz?exclude=z&exclude=none&exclude=z&verbose", false, 200, "[+]ping ok\n[+]etcd ok\nwarn: some health checks cannot be excluded: no matches for \"none\",\"z\"\nreadyz check passed\n"},
	}
	broken := ready
	for _, test := range tests {
		ready = nil
		if test.failing {
			ready = broken
		}
		if code, body := get(test.target); code != test.wantCode || body != test.want {
			t.Errorf("%s (etcd failing: %v): %d %q, want %d %q", test.target, test.failing, code, body, test.wantCode, test.want)
		}
	}
}
