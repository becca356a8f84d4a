package lister

import (
	"context"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

// Storage holds the definitions. Its objects are *apiextensions.CustomResourceDefinition.
type Storage interface {
	rest.Getter
	rest.Lister
	rest.Watcher
}

// Definition is a CustomResourceDefinition, shared and read only.
type Definition = apiextensionsv1.CustomResourceDefinition

// Lister holds the current definitions. mu serializes writers, and guards listed, unreadable, toTell, isToTell,
// delivered and nextDelivery. Readers of known, sorted and revision need no lock.
type Lister struct {
	// Log, if set before Run, receives errors of reading etcd.
	Log *slog.Logger

	crds Storage

	known sync.Map // of *Definition, by name
	// changes counts changes, so that a sorted list knows which state it shows.
	changes  atomic.Uint64
	sorted   atomic.Pointer[sortedList]
	revision atomic.Uint64

	mu     sync.Mutex
	listed bool
	// unreadable holds the definitions that can't be read, by name. If one was readable before, that state
	// stays known.
	unreadable map[string]*builtin.Unreadable
	// toTell lists the names whose change subscribers have yet to see, in order and once each.
	toTell   []string
	isToTell map[string]bool
	wake     chan struct{}

	handlers []func(old, new *Definition)
	synced   chan struct{}
	// delivered counts the changes that subscribers have seen. nextDelivery is closed and replaced when it grows.
	delivered    uint64
	nextDelivery chan struct{}

	reads reads
}

type sortedList struct {
	changes     uint64
	definitions []*Definition
}

// New creates a Lister. It is empty until it runs.
func New(crds Storage) *Lister {
	return &Lister{
		crds:         crds,
		unreadable:   map[string]*builtin.Unreadable{},
		isToTell:     map[string]bool{},
		wake:         make(chan struct{}, 1),
		synced:       make(chan struct{}),
		nextDelivery: make(chan struct{}),
		reads:        newReads(),
	}
}

// Subscribe calls h at each change. old is nil for a new definition, and new is nil for a deleted one. A
// definition that was deleted and created again may be one change, with another UID. Subscribe before Run.
func (l *Lister) Subscribe(h func(old, new *Definition)) { l.handlers = append(l.handlers, h) }

// WaitSynced waits until the first list is known, and subscribers have seen it.
func (l *Lister) WaitSynced(ctx context.Context) error {
	return wait(ctx, l.synced)
}

// WaitDelivered waits until subscribers have seen everything that is known now.
func (l *Lister) WaitDelivered(ctx context.Context) error {
	known := l.changes.Load()
	for {
		l.mu.Lock()
		told, more := l.delivered, l.nextDelivery
		l.mu.Unlock()
		if told >= known {
			return nil
		}
		if err := wait(ctx, more); err != nil {
			return err
		}
	}
}

// NextDelivery returns a channel that is closed when subscribers have seen a further change.
func (l *Lister) NextDelivery() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nextDelivery
}

func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Revision returns the newest revision whose changes are known.
func (l *Lister) Revision() uint64 { return l.revision.Load() }

// Get returns nil for an unknown name.
func (l *Lister) Get(name string) *Definition {
	d, _ := l.known.Load(name)
	known, _ := d.(*Definition)
	return known
}

// List returns all known definitions, sorted by name. Readers share the slice, too.
func (l *Lister) List() []*Definition {
	changes := l.changes.Load()
	if s := l.sorted.Load(); s != nil && s.changes == changes {
		return s.definitions
	}
	s := &sortedList{changes: changes}
	l.known.Range(func(_, d any) bool {
		s.definitions = append(s.definitions, d.(*Definition))
		return true
	})
	slices.SortFunc(s.definitions, func(a, b *Definition) int { return strings.Compare(a.Name, b.Name) })
	s.definitions = slices.Clip(s.definitions)
	l.sorted.Store(s)
	return s.definitions
}

// Unreadable returns the error of a definition that can't be read, nil if it can be or does not exist.
func (l *Lister) Unreadable(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u := l.unreadable[name]; u != nil {
		return u
	}
	return nil
}

// AllUnreadable returns the error of each definition that can't be read, sorted by name.
func (l *Lister) AllUnreadable() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []error
	for _, name := range slices.Sorted(maps.Keys(l.unreadable)) {
		all = append(all, l.unreadable[name])
	}
	return all
}

// replace stores a list with its revision. Newer definitions from GetFresh stay.
func (l *Lister) replace(list []*Definition, unreadable []*builtin.Unreadable, revision uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	there := make(map[string]bool, len(list))
	l.setUnreadable(unreadable)
	for name := range l.unreadable {
		there[name] = true
	}
	for _, d := range list {
		there[d.Name] = true
		l.set(d)
	}
	l.known.Range(func(name, d any) bool {
		if !there[name.(string)] && revisionOf(d.(*Definition)) <= revision {
			l.unset(name.(string))
		}
		return true
	})
	l.revision.Store(max(l.revision.Load(), revision))
	l.listed = true
	l.wakeUp()
}

// setUnreadable stores which definitions can't be read, and logs the new ones. The caller holds l.mu.
func (l *Lister) setUnreadable(now []*builtin.Unreadable) {
	before := l.unreadable
	l.unreadable = map[string]*builtin.Unreadable{}
	for _, u := range now {
		name := path.Base(u.Key)
		l.unreadable[name] = u
		if was := before[name]; l.Log == nil || was != nil && was.Revision == u.Revision {
			continue
		}
		effect := "what it defines is not served"
		if l.Get(name) != nil {
			effect = "what it defines is served as before"
		}
		l.Log.Error("a CustomResourceDefinition cannot be read: "+effect, "error", u)
	}
}

// changed stores an event of the watch.
func (l *Lister) changed(d *Definition, deleted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.unreadable, d.Name)
	revision := revisionOf(d)
	if deleted {
		if known := l.Get(d.Name); known != nil && revisionOf(known) <= revision {
			l.unset(d.Name)
		}
	} else {
		l.set(d)
	}
	l.revision.Store(max(l.revision.Load(), revision))
	l.wakeUp()
}

// store stores a definition that was read, unless the watch has reached its revision and so knows a newer state.
func (l *Lister) store(d *Definition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if revisionOf(d) > l.revision.Load() {
		delete(l.unreadable, d.Name)
		l.set(d)
		l.wakeUp()
	}
}

// set and unset require l.mu.
func (l *Lister) set(d *Definition) {
	if known := l.Get(d.Name); known != nil && revisionOf(known) >= revisionOf(d) {
		return
	}
	l.known.Store(d.Name, d)
	l.noteChange(d.Name)
}

func (l *Lister) unset(name string) {
	l.known.Delete(name)
	l.noteChange(name)
}

func (l *Lister) noteChange(name string) {
	l.changes.Add(1)
	if !l.isToTell[name] {
		l.isToTell[name] = true
		l.toTell = append(l.toTell, name)
	}
}

func (l *Lister) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default: // it has been called already
	}
}

// toV1 converts a definition from the storage. The result may share memory with it.
func toV1(in *apiextensions.CustomResourceDefinition) (*Definition, error) {
	out := &Definition{}
	if err := apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(in, out, nil); err != nil {
		return nil, err
	}
	out.APIVersion, out.Kind = apiextensionsv1.SchemeGroupVersion.String(), "CustomResourceDefinition"
	return out, nil
}
