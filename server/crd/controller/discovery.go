package controller

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/crd/lister"
	"github.com/kx-apiserver/kx/server/discovery"
)

// longestWait limits how long a request waits for definitions that are about to be established.
const longestWait = time.Second

// publication publishes the custom resources that are served.
//
// It owns the group versions of definitions in server/discovery's documents: resources sorted by name, with the
// subresources status and scale. In come definitions from the lister. Out go calls of server/discovery's
// Manager, made when a document is requested: 500 new definitions cost nothing until then, and one update after
// that.
//
// # What a client can rely on
//
// A resource is in discovery exactly if its definition is established and serves the version. A client that has
// seen the definition established on this server finds it there. To ensure that, a request waits for
// definitions that are about to be established: their names are accepted, and the last write is on its way.
// That takes a moment, and the wait is limited in case etcd does not answer.
//
// The client of another server may have seen the definition established before this server has seen its names
// accepted. Discovery here is then as late as etcd's watch.
//
// # Invariants
//
//  1. A request takes no lock and allocates nothing if no definition has changed since the last one.
//  2. A group version is computed again only if a definition that has or had it changes.
//  3. A group version of another publisher (a built-in one) stays unchanged.
//  4. A group version disappears with its last resource, and a group with its last version.
type publication struct {
	lister *lister.Lister
	pages  *discovery.Manager

	// published lists the definitions in the documents. None of them is about to be established, except those
	// in overdue.
	published atomic.Pointer[[]*Definition]
	overdue   atomic.Pointer[[]*Definition]

	// mu serializes updates and guards own, the group versions that this controller publishes.
	mu  sync.Mutex
	own map[schema.GroupVersion]bool

	// changed is closed and replaced at every change of a definition.
	changed atomic.Pointer[chan struct{}]
}

// newPublication creates a controller. It receives changes once the lister runs.
func newPublication(l *lister.Lister, pages *discovery.Manager) *publication {
	c := &publication{lister: l, pages: pages, own: map[schema.GroupVersion]bool{}}
	c.published.Store(new([]*Definition))
	c.overdue.Store(new([]*Definition))
	c.changed.Store(new(make(chan struct{})))
	l.Subscribe(func(_, _ *Definition) {
		close(*c.changed.Swap(new(make(chan struct{}))))
	})
	return c
}

// WithDiscovery updates the documents before next serves one.
func (c *publication) WithDiscovery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isPage(r.URL.Path) {
			c.Update(r.Context())
		}
		next.ServeHTTP(w, r)
	})
}

// isPage reports whether a path is /apis, /apis/<group> or /apis/<group>/<version>.
func isPage(path string) bool {
	path, ok := strings.CutPrefix(strings.TrimSuffix(path, "/"), "/apis")
	return ok && (path == "" || path[0] == '/' && strings.Count(path, "/") <= 2)
}

// Update waits for definitions that are about to be established, and updates the documents.
func (c *publication) Update(ctx context.Context) {
	if slices.Equal(*c.published.Load(), c.lister.List()) {
		return
	}
	c.settle(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	before, now := *c.published.Load(), c.lister.List()
	stale := changes(before, now)
	// All changes are made at once, since the first request after a change encodes the documents anew.
	maps.DeleteFunc(stale, func(gv schema.GroupVersion, _ bool) bool { return !c.own[gv] && c.isForeign(gv) })
	for gv, resources := range resourcesOf(now, stale) {
		c.publish(gv, resources)
	}
	if !slices.ContainsFunc(now, c.isAwaited) {
		c.published.Store(&now)
	}
}

// isAwaited reports whether d is about to be established.
func (c *publication) isAwaited(d *Definition) bool {
	return IsEstablishingDue(d) && !slices.Contains(*c.overdue.Load(), d)
}

// settle waits until none of the definitions known now is about to be established. It notes those that took too
// long in overdue: no request waits for them again until they change.
func (c *publication) settle(ctx context.Context) {
	timer := time.NewTimer(longestWait)
	defer timer.Stop()
	for _, d := range c.lister.List() {
		for d != nil && c.isAwaited(d) {
			changed := *c.changed.Load()
			if now := c.lister.Get(d.Name); now != d {
				d = now
				continue
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			case <-timer.C:
				overdue := slices.DeleteFunc(slices.Clone(c.lister.List()), func(d *Definition) bool { return !IsEstablishingDue(d) })
				c.overdue.Store(&overdue)
				return
			}
		}
	}
}

// changes returns the group versions of the definitions that are in only one of two lists.
func changes(before, now []*Definition) map[schema.GroupVersion]bool {
	stale := map[schema.GroupVersion]bool{}
	add := func(d *Definition) {
		for i := range d.Spec.Versions {
			stale[schema.GroupVersion{Group: d.Spec.Group, Version: d.Spec.Versions[i].Name}] = true
		}
	}
	for len(before) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(before) > 0 && before[0].Name < now[0].Name:
			add(before[0])
			before = before[1:]
		case len(before) == 0 || now[0].Name < before[0].Name:
			add(now[0])
			now = now[1:]
		default:
			if before[0] != now[0] {
				add(before[0])
				add(now[0])
			}
			before, now = before[1:], now[1:]
		}
	}
	return stale
}

// publish publishes a group version, or removes it if it has no resources.
func (c *publication) publish(gv schema.GroupVersion, resources []metav1.APIResource) {
	switch {
	case len(resources) > 0:
		c.pages.SetGroupVersion(gv, resources)
		c.own[gv] = true
	case c.own[gv]:
		c.pages.RemoveGroupVersion(gv)
		delete(c.own, gv)
	}
}

// isForeign reports whether another publisher owns a group version.
func (c *publication) isForeign(gv schema.GroupVersion) bool {
	_, ok := c.pages.Handler("/apis/" + gv.Group + "/" + gv.Version)
	return ok
}

// resourcesOf returns the resources that definitions serve in some group versions.
func resourcesOf(definitions []*Definition, in map[schema.GroupVersion]bool) map[schema.GroupVersion][]metav1.APIResource {
	resources := make(map[schema.GroupVersion][]metav1.APIResource, len(in))
	for gv := range in {
		resources[gv] = nil
	}
	for _, d := range definitions {
		if !apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Established) {
			continue
		}
		for i := range d.Spec.Versions {
			v := &d.Spec.Versions[i]
			gv := schema.GroupVersion{Group: d.Spec.Group, Version: v.Name}
			if v.Served && in[gv] {
				resources[gv] = appendResources(resources[gv], d, v)
			}
		}
	}
	return resources
}
