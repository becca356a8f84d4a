package server

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/kx-apiserver/kx/server/health"
	"github.com/kx-apiserver/kx/store/cacher"
)

// filling is the time after a start in which caches are filled, those of custom resources included: the first request for a
// resource should find its cache, not begin it. Later ones, of resources that come, make no difference to readiness.
type filling struct {
	caches *cacher.Caches
	over   atomic.Bool
}

// run makes warm begin all caches, and waits until they are filled. A cache that ends meanwhile need not be.
func (f *filling) run(ctx context.Context, warm func(context.Context)) {
	warm(ctx)
	for _, c := range f.caches.List() {
		_ = c.WaitUntilReady(ctx)
	}
	f.over.Store(ctx.Err() == nil)
}

// check says which caches are not filled, if that is why the server is not ready. ready is the check of what is always
// served.
func (f *filling) check(ready func() error) error {
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
	return health.Reason("watch caches that are not filled: " + listed(missing))
}

// mostListed is how many caches are named.
const mostListed = 20

func listed(names []string) string {
	more := ""
	if n := len(names) - mostListed; n > 0 {
		names, more = names[:mostListed], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ") + more
}
