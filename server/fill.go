package server

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/kx-apiserver/kx/server/health"
	"github.com/kx-apiserver/kx/store/cacher"
)

// prefill tracks the caches that a start fills with --watch-cache-prefill, including those of custom resources, so that
// the first request for a resource finds its cache full. Caches of later resources don't affect readiness. Without that
// flag the start fills no caches, and readiness waits for none.
type prefill struct {
	caches *cacher.Caches
	over   atomic.Bool
}

// fill starts to fill the caches if the options ask for that, and returns at once.
func (s *Server) fill(context.Context) error {
	s.filling.caches = &s.storage.caches
	if !s.options.WatchCache.Prefill {
		s.filling.over.Store(true)
		return nil
	}
	s.run(func(ctx context.Context) { s.filling.run(ctx, s.chain.customResources.Warm) })
	return nil
}

// run calls warm, which starts all caches, and waits until they are filled. It does not wait for a cache that ends
// meanwhile.
func (f *prefill) run(ctx context.Context, warm func(context.Context)) {
	warm(ctx)
	for _, c := range f.caches.List() {
		_ = c.WaitUntilReady(ctx)
	}
	f.over.Store(ctx.Err() == nil)
}

// check names the caches that are not filled, if they are the reason that the server is not ready. ready is the
// readiness check of the storages.
func (f *prefill) check(ready func() error) error {
	err := ready()
	if err == nil && f.over.Load() {
		return nil
	}
	var missing []string
	for _, c := range f.caches.List() {
		if c.ReadinessCheck() != nil {
			missing = append(missing, fmt.Sprintf("%s (%s)", c.Resource(), c.Inspect().State))
		}
	}
	switch {
	case len(missing) == 0 && err == nil:
		return health.Reason("the watch caches of custom resources have not begun to fill")
	case len(missing) == 0:
		return err
	}
	return health.Reason("watch caches that are not filled: " + joinNames(missing))
}

// mostListed limits the caches that an error names.
const mostListed = 20

func joinNames(names []string) string {
	more := ""
	if n := len(names) - mostListed; n > 0 {
		names, more = names[:mostListed], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ") + more
}
