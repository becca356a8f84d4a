package filter

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/server/authn"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/flow"
	"github.com/kx-apiserver/kx/store/admin"
)

// BenchmarkFilter has a GET of an administrator pass each filter alone, and then all of them. It is not recorded.
func BenchmarkFilter(b *testing.B) {
	var r *http.Request // as it reaches the handler
	d := newDoor(b, func(_ http.ResponseWriter, got *http.Request) { r = got }, func(c *Config) { c.Journeys = nil })
	d.ask(b, d.admin, "GET", "/api/v1/namespaces/default/configmaps/a")
	var err error
	if d.config.Flow, err = flow.New(flow.Config{
		Seats: 100, Wait: time.Minute, Log: slog.New(slog.DiscardHandler),
		Kit: &work.Kit{Etcd: &admin.Live{}, Decoder: &admin.Decoder{}},
	}); err != nil {
		b.Fatal(err)
	}
	ctx := authn.ConnContext(b.Context(), nil)
	for _, f := range chain {
		var passed context.Context
		pass := f.With(func(ctx context.Context, _ http.ResponseWriter, _ *http.Request) { passed = ctx }, d.config)
		w := &response{ResponseWriter: httptest.NewRecorder()}
		pass(ctx, w, r)
		b.Run(strings.TrimPrefix(f.Step.Info().Name, "filter."), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				pass(ctx, w, r)
			}
		})
		if passed == nil {
			b.Fatalf("%s refuses it: %d", f.Step, w.code)
		}
		if passed.Err() == nil { // the deadline's has ended
			ctx = passed
		}
	}
	passed := 0
	all := BuildHandlerChain(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed++ }), d.config)
	b.Run("all", func(b *testing.B) {
		w, sent := httptest.NewRecorder(), r.WithContext(authn.ConnContext(b.Context(), nil))
		b.ReportAllocs()
		passed = 0
		for b.Loop() {
			all.ServeHTTP(w, sent)
		}
		if passed != b.N {
			b.Errorf("%d of %d passed", passed, b.N)
		}
	})
}
