package kxapi

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// ruleFollower is one watch of breakpoints or faults. Only run touches what is below stop.
type ruleFollower[T ruleObject] struct {
	rest    *RuleREST[T]
	options *metainternalversion.ListOptions
	events  chan watch.Event
	stop    context.CancelFunc

	seq uint64 // what was sent is of this version
}

func (f *ruleFollower[T]) ResultChan() <-chan watch.Event { return f.events }
func (f *ruleFollower[T]) Stop()                          { f.stop() }

// Watch implements rest.Watcher. MODIFIED is that the object's rule was met, once or more.
func (r *RuleREST[T]) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	f := &ruleFollower[T]{rest: r, options: options, events: make(chan watch.Event)}
	_, f.seq = r.selected(nil)
	version := options.ResourceVersion
	initial := version == "" || version == "0"
	if !initial {
		seq, err := r.since(version, f.seq)
		if err != nil {
			return nil, err
		}
		f.seq = seq
	}
	if send := options.SendInitialEvents; send != nil {
		initial = *send
	}
	if _, _, ok := r.after(f.seq); !ok && !initial {
		return nil, expired("too old resource version: %s", version)
	}
	r.watching(1)
	ctx, f.stop = context.WithCancel(ctx)
	go f.run(ctx, initial)
	return f, nil
}

// watching counts watches: as long as there are any, no lease ends.
func (r *RuleREST[T]) watching(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches += n
	r.tendedAt = time.Now()
}

// ruleChange is a change as of a version.
type ruleChange[T ruleObject] struct {
	entry     *ruleEntry[T]
	version   uint64
	eventType watch.EventType
}

// after is what has changed after version seq, and the version now. Not ok is that it is not known any more.
func (r *RuleREST[T]) after(seq uint64) (changes []ruleChange[T], now uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if seq < r.lost {
		return nil, r.seq, false
	}
	for _, e := range r.deleted {
		if e.created > seq { // who made it may wait for its end
			changes = append(changes, ruleChange[T]{e, e.created, watch.Added})
		}
		if e.version > seq {
			changes = append(changes, ruleChange[T]{e, e.version, watch.Deleted})
		}
	}
	for _, e := range r.entries {
		switch {
		case e.created > seq:
			changes = append(changes, ruleChange[T]{e, e.version, watch.Added})
		case e.version > seq:
			changes = append(changes, ruleChange[T]{e, e.version, watch.Modified})
		}
	}
	slices.SortFunc(changes, func(a, b ruleChange[T]) int { return cmp.Compare(a.version, b.version) })
	return changes, r.seq, true
}

// wait waits until there is something after version seq.
func (r *RuleREST[T]) wait(ctx context.Context, seq uint64) bool {
	r.mu.Lock()
	wake, now := r.wake, r.seq
	r.mu.Unlock()
	if now > seq {
		return true
	}
	select {
	case <-wake:
		return true
	case <-ctx.Done():
		return false
	}
}

func (f *ruleFollower[T]) run(ctx context.Context, initial bool) {
	defer f.rest.watching(-1)
	defer close(f.events)
	defer f.stop()
	if initial && !f.sendAll(ctx) {
		return
	}
	pause := time.NewTimer(batchEvery)
	defer pause.Stop()
	for f.rest.wait(ctx, f.seq) && f.sendNew(ctx) {
		pause.Reset(batchEvery)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

// sendAll sends what is there, and the bookmark that ends it if the client asked for one.
func (f *ruleFollower[T]) sendAll(ctx context.Context) bool {
	entries, seq := f.rest.selected(f.options)
	f.seq = seq
	for _, e := range entries {
		if !f.send(ctx, watch.Added, f.rest.show(e)) {
			return false
		}
	}
	if f.options.SendInitialEvents == nil || !f.options.AllowWatchBookmarks {
		return true
	}
	bookmark := f.rest.newOne()
	bookmark.SetResourceVersion(strconv.FormatUint(f.rest.base+seq, 10))
	bookmark.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return f.send(ctx, watch.Bookmark, bookmark)
}

func (f *ruleFollower[T]) sendNew(ctx context.Context) bool {
	changes, now, ok := f.rest.after(f.seq)
	if !ok {
		err := expired("too old resource version: the watch fell behind: list again")
		f.send(ctx, watch.Error, &err.ErrStatus)
		return false
	}
	for _, c := range changes {
		if !selects(f.options, c.entry.object) {
			continue
		}
		object := f.rest.show(c.entry)
		// As of what was looked at: a hit meanwhile is told next time.
		object.SetResourceVersion(strconv.FormatUint(f.rest.base+c.version, 10))
		if !f.send(ctx, c.eventType, object) {
			return false
		}
	}
	f.seq = now
	return true
}

func (f *ruleFollower[T]) send(ctx context.Context, eventType watch.EventType, object runtime.Object) bool {
	select {
	case f.events <- watch.Event{Type: eventType, Object: object}:
		return true
	case <-ctx.Done():
		return false
	}
}
