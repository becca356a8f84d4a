package cacher

import (
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// dispatcher hands events to watchers.
//
// A watcher is either live or behind. A live one costs nothing: the reflector puts events into its channel, right
// after it has put them into the cache. If the channel is full, the watcher is behind from then on: a goroutine of
// its own goes through the cache's history, beginning with the event that did not fit, and waits for the client. At
// the end of the history the watcher is live again and the goroutine ends. A watcher that begins in the past begins
// behind. So a slow client delays no other one and holds nothing in memory. Events that the history no longer has
// come from etcd's history (past). If etcd has compacted the watcher's next event, the watcher ends with 410 Expired
// and its client begins again.
//
// Invariants:
//
//  1. All live watchers have been given all events before next that are for them.
//  2. A live watcher's channel is written and closed under mu; that of one behind by its goroutine alone.
//  3. mu is never held across a wait. It guards all fields below it, and the fields of each cacheWatcher that say so.
type dispatcher struct {
	cacher *Cacher

	mu     sync.Mutex
	closed bool
	// next is the seq of the next event, and revision up to where all was dispatched.
	next, revision int64
	// groups are the watchers by their key: that of an object, or what begins the keys of several.
	groups map[string]*group
	count  int
	nextID int64
}

// group are the watchers of one key.
type group struct {
	all watcherList
	// named holds the watchers that select one name, triggered those that select one value of the cacher's trigger.
	named, triggered map[string]*watcherList
}

// watcherList is a set of watchers: each knows where in it it is.
type watcherList []*cacheWatcher

func (l *watcherList) add(w *cacheWatcher) {
	w.slot = len(*l)
	*l = append(*l, w)
}

func (l *watcherList) remove(w *cacheWatcher) {
	last := len(*l) - 1
	moved := (*l)[last]
	(*l)[w.slot], moved.slot = moved, w.slot
	(*l)[last] = nil
	*l = (*l)[:last]
}

func (d *dispatcher) init(c *Cacher) {
	d.cacher, d.groups = c, map[string]*group{}
}

// listOf is the list that w belongs into.
func (d *dispatcher) listOf(w *cacheWatcher, create bool) *watcherList {
	g := d.groups[w.key]
	if g == nil {
		if !create {
			return nil
		}
		g = &group{named: map[string]*watcherList{}, triggered: map[string]*watcherList{}}
		d.groups[w.key] = g
	}
	lists, value := g.named, w.name
	switch {
	case w.name != "":
	case w.triggered:
		lists, value = g.triggered, w.trigger
	default:
		return &g.all
	}
	if lists[value] == nil && create {
		lists[value] = &watcherList{}
	}
	return lists[value]
}

// add makes w known and starts it. It says false if the cacher has stopped.
func (d *dispatcher) add(w *cacheWatcher, begin func() error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.nextID++
	w.id = d.nextID
	d.listOf(w, true).add(w)
	d.count++
	if begin == nil && w.next >= d.next {
		w.live = true
		return true
	}
	d.cacher.running.Go(func() { w.run(begin) })
	return true
}

// removeLocked forgets w.
func (d *dispatcher) removeLocked(w *cacheWatcher) {
	list := d.listOf(w, false)
	if list == nil || w.slot < 0 {
		return
	}
	list.remove(w)
	w.slot = -1
	d.count--
	if len(*list) > 0 {
		return
	}
	g := d.groups[w.key]
	switch {
	case w.name != "":
		delete(g.named, w.name)
	case w.triggered:
		delete(g.triggered, w.trigger)
	}
	if len(g.all)+len(g.named)+len(g.triggered) == 0 {
		delete(d.groups, w.key)
	}
}

// goLive makes w live if it has been given all that the others have.
func (d *dispatcher) goLive(w *cacheWatcher) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.stopped || w.next < d.next || w.epoch != d.cacher.epoch.Load() {
		return false
	}
	w.live = true
	return true
}

// dispatchEvents hands events to the watchers that they are for. All up to revision has been handed out then.
func (d *dispatcher) dispatchEvents(events []*event, revision int64) {
	d.cacher.mark(events, revision, trace.MarkTime(steps.CacherDispatch))
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range events {
		d.dispatchEvent(e)
		d.next = e.seq + 1
	}
	d.revision = max(d.revision, revision)
	d.cacher.metrics.EventsDispatched.Add(float64(len(events)))
}

// dispatchEvent visits the watchers of the event's key and of all that begins it, and of those with a selector for one
// name or trigger only those with the event's.
func (d *dispatcher) dispatchEvent(e *event) {
	if d.count == 0 {
		return
	}
	d.give(d.groups[e.key], e)
	prefix := len(d.cacher.prefix)
	for end := strings.LastIndexByte(e.key, '/') + 1; end >= prefix; end = strings.LastIndexByte(e.key[:end-1], '/') + 1 {
		d.give(d.groups[e.key[:end]], e)
	}
}

func (d *dispatcher) give(g *group, e *event) {
	if g == nil {
		return
	}
	g.all.give(e)
	if len(g.named) > 0 {
		if named := g.named[e.key[strings.LastIndexByte(e.key, '/')+1:]]; named != nil {
			named.give(e)
		}
	}
	if len(g.triggered) == 0 {
		return
	}
	now, before, ok := d.triggers(e)
	if !ok {
		// The trigger's value is unknown: each watcher decides by its own selector.
		for _, list := range g.triggered {
			list.give(e)
		}
		return
	}
	for i, value := range []string{now, before} {
		if list := g.triggered[value]; list != nil && (i == 0 || before != now) {
			list.give(e)
		}
	}
}

// triggers are the values of the trigger that an event leads to and comes from.
func (d *dispatcher) triggers(e *event) (now, before string, ok bool) {
	attrs := d.cacher.config.GetAttrsFunc
	if e.object != nil {
		a, err := e.object.Attributes(attrs)
		if err != nil {
			return "", "", false
		}
		now = a.Fields.Get(d.cacher.trigger)
		before = now
	}
	if e.prev != nil {
		a, err := e.prev.Attributes(attrs)
		if err != nil {
			return "", "", false
		}
		before = a.Fields.Get(d.cacher.trigger)
		if e.object == nil {
			now = before
		}
	}
	return now, before, true
}

// give gives e to all live watchers of the list. One whose channel is full is behind from here on.
func (l watcherList) give(e *event) {
	for _, w := range l {
		if !w.live || e.seq < w.next || !w.recursive && e.key != w.key {
			continue
		}
		out, selected, err := w.convert(e)
		if err == nil && !selected {
			continue
		}
		if err == nil {
			select {
			case w.result <- out:
				w.gave(e.revision)
				w.cacher.metrics.ObserveDispatch(time.Since(e.at), e.processed.Sub(e.at), 0)
				continue
			default:
			}
		}
		w.live = false
		w.cacher.running.Go(func() { w.run(func() error { return w.pass(e) }) })
	}
}

// restart is called around a fill: no event is dispatched meanwhile. All watchers are behind then, for what happened
// between the state before and this one is for etcd to tell. If etcd has another history they end.
func (d *dispatcher) restart(same bool, replace func() (revision int64)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !same {
		d.cacher.epoch.Add(1)
		d.cacher.past.forget()
	}
	come := position{revision: d.revision}
	d.revision = replace()
	d.next = d.cacher.watchCache.nextSeq()
	d.each(func(w *cacheWatcher) {
		// Those that are behind already find out when they look for their next event.
		if w.live {
			w.live, w.next, w.come = false, noSeq, come
			d.cacher.running.Go(func() { w.run(nil) })
		}
	})
}

func (d *dispatcher) each(visit func(*cacheWatcher)) {
	for _, g := range d.groups {
		lists := []*watcherList{&g.all}
		for _, list := range g.named {
			lists = append(lists, list)
		}
		for _, list := range g.triggered {
			lists = append(lists, list)
		}
		for _, list := range lists {
			for _, w := range append(watcherList(nil), *list...) {
				visit(w)
			}
		}
	}
}

// close ends all watchers and takes no more.
func (d *dispatcher) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.each(func(w *cacheWatcher) { w.stopLocked() })
}

// bookmark gives a bookmark to all live watchers whose time has come.
func (d *dispatcher) bookmark(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	revision := d.revision
	d.each(func(w *cacheWatcher) {
		// A watcher that caught up may have been given events of the history that are yet to be dispatched.
		if !w.live || !w.due(now) || revision < max(w.from, w.at.Load()) {
			return
		}
		bookmark, err := w.newBookmark(revision, false)
		if err != nil {
			return
		}
		select {
		case w.result <- watch.Event{Type: watch.Bookmark, Object: bookmark}:
			w.bookmarked, w.bookmarkedAt = revision, now
			w.scheduleBookmark(now)
		default: // it has more to read than a bookmark would save it
		}
	})
}

// nextBookmark returns when the next bookmark is due; zero if no watcher wants any.
func (d *dispatcher) nextBookmark() (next time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.each(func(w *cacheWatcher) {
		if w.bookmarks && (next.IsZero() || w.nextBookmark.Before(next)) {
			next = w.nextBookmark
		}
	})
	return next
}
