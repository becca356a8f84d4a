package health

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

func TestEndpoint(t *testing.T) {
	ready := errors.New("etcd: secret-host is down")
	checks := []Check{Ping, {"etcd", func(context.Context) error { return ready }}}
	e := NewEndpoint("/readyz", slog.New(slog.DiscardHandler), nil, checks...)
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
		{"/readyz/", false, 404, "404 page not found\n"},
		{"/readyz/etcd/", false, 404, "404 page not found\n"},
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

// TestReason: what may be told is told to those who say who they are.
func TestReason(t *testing.T) {
	failure := errors.Join(Reason("pods are missing"), errors.New("secret-host is down"))
	e := NewEndpoint("/readyz", slog.New(slog.DiscardHandler), nil, Check{"pods", func(context.Context) error { return failure }})
	for name, test := range map[string]struct {
		who  user.Info
		want string
	}{
		"nobody":    {nil, "reason withheld"},
		"anonymous": {&user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}, "reason withheld"},
		"ann":       {&user.DefaultInfo{Name: "ann", Groups: []string{user.AllAuthenticated}}, "pods are missing"},
	} {
		get := func(target string) string {
			r := httptest.NewRequest(http.MethodGet, target, nil)
			if test.who != nil {
				r = r.WithContext(request.WithUser(r.Context(), test.who))
			}
			w := httptest.NewRecorder()
			e.ServeHTTP(w, r)
			return w.Body.String()
		}
		if got, want := get("/readyz"), "[-]pods failed: "+test.want+"\nreadyz check failed\n"; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if got, want := get("/readyz/pods"), "internal server error: "+test.want+"\n"; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestWarning: a check that only warns passes, and says so to those who say who they are and ask for it.
func TestWarning(t *testing.T) {
	warning := errors.Join(Warning("a pod can't be read"))
	e := NewEndpoint("/readyz", slog.New(slog.DiscardHandler), nil, Check{"pods", func(context.Context) error { return warning }}, Ping)
	for name, test := range map[string]struct {
		groups []string
		target string
		want   string
	}{
		"nobody":        {nil, "/readyz?verbose", "[+]pods ok\n[+]ping ok\nreadyz check passed\n"},
		"ann":           {[]string{user.AllAuthenticated}, "/readyz?verbose", "[+]pods ok\nwarn: pods: a pod can't be read\n[+]ping ok\nreadyz check passed\n"},
		"ann, in short": {[]string{user.AllAuthenticated}, "/readyz", "ok"},
		"ann, of one":   {[]string{user.AllAuthenticated}, "/readyz/pods", "ok"},
	} {
		r := httptest.NewRequest(http.MethodGet, test.target, nil)
		r = r.WithContext(request.WithUser(r.Context(), &user.DefaultInfo{Groups: test.groups}))
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		if got := w.Body.String(); got != test.want || w.Code != http.StatusOK {
			t.Errorf("%s: %d %q, want %q", name, w.Code, got, test.want)
		}
	}
}
