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

// space is a namespace that has a quota.
type space struct {
	quotas map[string]*limits
	// kinds are what its quotas count, by the beginnings of their keys.
	kinds map[string]*kind
	// unserved says that a quota names a resource that is not served.
	unserved bool
	// written is when the status of one of its quotas was written last.
	written time.Time
}

// limits are what is known of a quota.
type limits struct {
	spec  corev1.ResourceQuotaSpec
	round uint32
	// used is what its status says, and raised is when what it says of a name became more.
	used   corev1.ResourceList
	raised map[corev1.ResourceName]time.Time
}

// says enters what the status of the quota says.
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

// early says how long what the status says of a name must not be lowered: who raised it may not have made the object
// yet.
func (l *limits) early(name corev1.ResourceName, amount resource.Quantity, now time.Time) time.Duration {
	if was, ok := l.used[name]; !ok || amount.Cmp(was) > 0 {
		return between // its event is on the way
	}
	return l.raised[name].Add(between).Sub(now)
}

// kind are the objects of a resource in one namespace.
type kind struct {
	resource schema.GroupResource
	// ready says that all objects are known as of the revision at, and the events after it.
	ready   bool
	at      int64
	objects map[string]object
	groups  map[string]*group
	// early are the last events of objects that came while the kind was read.
	early map[string]event
	// ends are the objects whose usage ends at a time.
	ends map[string]time.Time
}

// object is one that is counted.
type object struct {
	*group
	round uint32
}

// group is of objects that use the same.
type group struct {
	*quota.Usage
	signature string
	n         int64
}

// event is what became of an object: its usage is nil if it is gone, or can't be read.
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

// set enters an object, or removes it if its usage is nil. It says whether that changes what is used.
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

// expire ends what has its end behind it, and returns when the next one ends.
func (k *kind) expire(now time.Time) (next time.Time) {
	for name, until := range k.ends {
		switch o := k.objects[name]; {
		case !now.Before(until):
			k.set(name, o.Ended(), o.round)
		case next.IsZero() || until.Before(next):
			next = until
		}
	}
	return next
}

// usages yields what objects use, and how many they are. The order does not change while they don't, and so a sum keeps
// its format.
func (k *kind) usages() iter.Seq2[*quota.Usage, int64] {
	return func(yield func(*quota.Usage, int64) bool) {
		for _, signature := range slices.Sorted(maps.Keys(k.groups)) {
			if g := k.groups[signature]; !yield(g.Usage, g.n) {
				return
			}
		}
	}
}
