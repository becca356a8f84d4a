package resourcequota

import (
	"iter"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/quota"
)

// space is a namespace that has a quota. The controller's mu guards it.
type space struct {
	quotas map[string]*limits
	// kinds maps key prefixes to the kinds that its quotas count.
	kinds map[string]*kind
	// unserved means that a quota names a resource that is not served.
	unserved bool
	// written is the time of the last write to one of its quotas.
	written time.Time
}

// limits holds the known state of a quota.
type limits struct {
	spec  corev1.ResourceQuotaSpec
	round uint32
	// used is the usage in its status, and raised maps names to the time of their last increase.
	used   corev1.ResourceList
	raised map[corev1.ResourceName]time.Time
}

// says stores the usage in the status of the quota.
func (l *limits) says(used corev1.ResourceList, now time.Time) {
	for name, amount := range used {
		if was, ok := l.used[name]; ok && amount.Cmp(was) <= 0 {
			continue
		}
		if l.raised == nil {
			l.raised = map[corev1.ResourceName]time.Time{}
		}
		l.raised[name] = now
	}
	l.used = used
}

// leadTime returns how long the amount of a name must not be lowered: the request that raised it may not have
// created the object yet.
func (l *limits) leadTime(name corev1.ResourceName, amount resource.Quantity, now time.Time) time.Duration {
	if was, ok := l.used[name]; !ok || amount.Cmp(was) > 0 {
		return between // its event is on the way
	}
	return l.raised[name].Add(between).Sub(now)
}

// kind holds the objects of a resource in one namespace.
type kind struct {
	resource schema.GroupResource
	// ready means that all objects are known as of the revision at, and later events are applied.
	ready   bool
	at      int64
	objects map[string]object
	groups  map[string]*group
	// early holds the last events of objects that arrived while the kind was read.
	early map[string]event
	// ends maps objects to the time at which their usage ends.
	ends map[string]time.Time
}

// object is a counted object.
type object struct {
	*group
	round uint32
}

// group counts the objects with the same usage.
type group struct {
	*quota.Usage
	signature string
	n         int64
}

// event is the new state of an object: its usage is nil if it is gone, or can't be read.
type event struct {
	usage    *quota.Usage
	revision int64
}

func newKind(resource schema.GroupResource) *kind {
	return &kind{
		resource: resource, objects: map[string]object{}, groups: map[string]*group{}, early: map[string]event{},
		ends: map[string]time.Time{},
	}
}

// set stores an object, or removes it if its usage is nil. changed reports whether that changes the sum.
func (k *kind) set(name string, u *quota.Usage, round uint32) (changed bool) {
	old, had := k.objects[name]
	if u == nil {
		k.leave(name, old.group)
		return had
	}
	signature := u.Signature()
	g := old.group
	if changed = !had || g.signature != signature; changed {
		k.leave(name, g)
		if g = k.groups[signature]; g == nil {
			g = &group{Usage: u, signature: signature}
			k.groups[signature] = g
		}
		g.n++
	}
	k.objects[name] = object{g, round}
	if delete(k.ends, name); !u.Until.IsZero() {
		k.ends[name] = u.Until
	}
	return changed
}

func (k *kind) leave(name string, g *group) {
	delete(k.objects, name)
	delete(k.ends, name)
	if g == nil {
		return
	}
	if g.n--; g.n == 0 {
		delete(k.groups, g.signature)
	}
}

// expire ends the usages whose time has come, and returns the time of the next.
func (k *kind) expire(now time.Time) (next time.Time) {
	for name, until := range k.ends {
		switch o := k.objects[name]; {
		case !now.Before(until):
			k.set(name, o.AfterUntil(), o.round)
		case next.IsZero() || until.Before(next):
			next = until
		}
	}
	return next
}

// usages yields the usages of objects with the number of objects. The order is stable, and so a sum keeps its
// format.
func (k *kind) usages() iter.Seq2[*quota.Usage, int64] {
	return func(yield func(*quota.Usage, int64) bool) {
		for _, signature := range slices.Sorted(maps.Keys(k.groups)) {
			if g := k.groups[signature]; !yield(g.Usage, g.n) {
				return
			}
		}
	}
}
