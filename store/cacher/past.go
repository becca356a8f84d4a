package cacher

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kx-apiserver/kx/store"
)

// past holds changes that etcd still has and the cache's history does not: pages, each read from etcd when a watcher
// needs it.
//
// A cache that has just been filled has no history, and after a restart all clients come back within a moment, each
// with a revision from before. One goroutine reads for all of them: from the oldest revision that a watcher waits
// for, up to where another page or the history goes on. Each watcher gets the page with the changes after its
// revision as soon as etcd has sent that page.
//
// Invariants:
//
//  1. A page holds all changes between its two revisions, in order.
//  2. The history and all pages together stay within the history's limits; one eighth of them is always for pages,
//     and one answer of etcd is never cut. A page that was not used for the history's window is dropped.
//  3. No page outlives the history that it was read from: an etcd that was restored from a backup begins with none,
//     and changes that were read while the cache's own watch of etcd ended are not used.
//
// mu guards all fields below it.
type past struct {
	cacher *Cacher

	mu     sync.Mutex
	closed bool
	pages  []*page // in the order of their revisions
	events int
	bytes  int
	wants  []*want
	// reading says that there is a goroutine that reads.
	reading bool
	// oldest is the revision after which etcd is known to have all changes: those before it are compacted.
	oldest int64
}

// page is all changes after one revision up to another. Its events are in no history, and have no seq.
type page struct {
	after, until int64
	events       []*event
	bytes        int
	used         time.Time
}

// noSeq is the seq of an event that is in no history, so that none follows it there.
const noSeq = -2

// want is the request of a watcher for the page with the changes after a revision.
type want struct {
	after  int64
	answer chan answer
}

type answer struct {
	page *page
	err  error
}

// errInterrupted says that the cache's own watch of etcd ended while history was read: it may be another etcd's.
var errInterrupted = errors.New("the watch of etcd ended meanwhile")

// errEnough ends a read that has filled the room that there is for it.
var errEnough = errors.New("enough was read")

// page waits for the page with the changes after a revision. None without an error says that the history may have them
// by now. An expired one says that etcd has compacted them.
func (p *past) page(done <-chan struct{}, after int64) (*page, error) {
	p.mu.Lock()
	if found := p.find(after); found != nil {
		p.mu.Unlock()
		return found, nil
	}
	if after < p.oldest {
		defer p.mu.Unlock()
		return nil, p.expired(after)
	}
	if p.closed {
		p.mu.Unlock()
		return nil, errStopping
	}
	w := &want{after, make(chan answer, 1)}
	p.wants = append(p.wants, w)
	if !p.reading {
		p.reading = true
		p.cacher.running.Go(p.read)
	}
	p.mu.Unlock()
	select {
	case a := <-w.answer:
		return a.page, a.err
	case <-done:
	case <-p.cacher.ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wants = slices.DeleteFunc(p.wants, func(other *want) bool { return other == w })
	return nil, errStopped
}

func (p *past) expired(after int64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", after, p.oldest))
}

// find is the page with the changes after a revision.
func (p *past) find(after int64) *page {
	for _, found := range p.pages {
		if found.after <= after && after < found.until {
			found.used = time.Now()
			return found
		}
	}
	return nil
}

// pastRead is one read of etcd's history.
type pastRead struct {
	from, until int64
	at          int64 // up to here it has come
	epoch       int64
	follows     int64 // which watch the cache follows
	// room and roomBytes limit the events that it may still keep.
	room, roomBytes int
	pages           []*page
}

// read serves all watchers that wait, and ends when none is left.
func (p *past) read() {
	for {
		r := p.begin()
		if r == nil {
			return
		}
		err := p.cacher.config.Storage.History(p.cacher.ctx, p.cacher.prefix, r.from, r.until, func(changes store.PastChanges) error {
			return p.take(r, changes)
		})
		p.end(r, err)
	}
}

// begin chooses the next read; nil if none is due.
func (p *past) begin() *pastRead {
	since, events, bytes := p.cacher.watchCache.historyExtent()
	follows, state := p.cacher.follows.Load(), p.cacher.state.get().State
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer(func(w *want) (answer, bool) {
		switch {
		case w.after >= since:
			return answer{}, true
		case state != Fresh:
			return answer{err: errInterrupted}, true
		}
		return answer{}, false
	})
	if len(p.wants) == 0 || p.closed {
		p.reading = false
		return nil
	}
	first := slices.MinFunc(p.wants, func(a, b *want) int { return cmp.Compare(a.after, b.after) })
	limits := p.cacher.watchCache.history.limits
	r := &pastRead{
		from: first.after, at: first.after, until: since, epoch: p.cacher.epoch.Load(), follows: follows,
		room: max(limits.max-events, limits.max/8), roomBytes: max(limits.maxBytes-bytes, limits.maxBytes/8),
	}
	for _, other := range p.pages {
		if other.after > r.from {
			r.until = min(r.until, other.after)
		}
	}
	return r
}

// answer answers those wants that to has an answer for, and keeps the others.
func (p *past) answer(to func(*want) (answer, bool)) {
	p.wants = slices.DeleteFunc(p.wants, func(w *want) bool {
		a, ok := to(w)
		if ok {
			w.answer <- a
		}
		return ok
	})
}

// take makes a page of what etcd sent, and gives it to those who wait for it.
func (p *past) take(r *pastRead, changes store.PastChanges) error {
	next := &page{after: r.at, until: changes.Revision, events: make([]*event, len(changes.Changes)), bytes: eventBytes, used: time.Now()}
	for i := range changes.Changes {
		next.events[i] = p.event(r, &changes.Changes[i], next.used)
		next.events[i].more = i+1 < len(changes.Changes) && changes.Changes[i+1].Revision == changes.Changes[i].Revision
		next.bytes += next.events[i].bytes
	}
	if p.cacher.follows.Load() != r.follows || p.cacher.state.get().State != Fresh {
		return errInterrupted
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cacher.epoch.Load() != r.epoch {
		return errInterrupted
	}
	r.at, r.pages = next.until, append(r.pages, next)
	p.insert(next)
	p.makeRoom(r)
	p.answer(func(w *want) (answer, bool) { return answer{page: next}, next.after <= w.after && w.after < next.until })
	room, bytes := r.room, r.roomBytes
	for _, own := range r.pages {
		room, bytes = room-len(own.events), bytes-own.bytes
	}
	if room <= 0 || bytes <= 0 {
		return errEnough
	}
	return nil
}

// event makes an event of a change. Its object is the cache's, if the cache still has that one.
func (p *past) event(r *pastRead, change *store.PastChange, at time.Time) *event {
	e := &event{
		seq: noSeq, revision: change.Revision, key: change.Key, object: change.Object, prev: change.Before,
		at: at, processed: at, bytes: eventBytes,
	}
	if e.prev != nil && e.prev.Revision() <= r.from { // otherwise it is the object of an event before
		e.bytes += e.prev.Size()
	}
	if e.object == nil {
		return e
	}
	if cached, _ := p.cacher.watchCache.get(e.key); cached != nil && cached.Revision() == e.revision {
		e.object = cached
	} else {
		e.bytes += e.object.Size()
	}
	return e
}

func (p *past) insert(next *page) {
	i, _ := slices.BinarySearchFunc(p.pages, next.after, func(other *page, after int64) int { return cmp.Compare(other.after, after) })
	p.pages = slices.Insert(p.pages, i, next)
	p.events, p.bytes = p.events+len(next.events), p.bytes+next.bytes
}

// makeRoom drops pages that a read did not bring, the longest unused first, until there is room for those that it did.
func (p *past) makeRoom(r *pastRead) {
	for p.events > r.room || p.bytes > r.roomBytes {
		oldest := -1
		for i, other := range p.pages {
			if !slices.Contains(r.pages, other) && (oldest < 0 || other.used.Before(p.pages[oldest].used)) {
				oldest = i
			}
		}
		if oldest < 0 {
			return
		}
		p.drop(p.pages[oldest])
		p.pages = slices.Delete(p.pages, oldest, oldest+1)
	}
}

func (p *past) drop(other *page) { p.events, p.bytes = p.events-len(other.events), p.bytes-other.bytes }

// end records the end of a read. Watchers that still wait are read for next, unless that would fail again.
func (p *past) end(r *pastRead, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var compacted *store.CompactedError
	switch {
	case err == nil || errors.Is(err, errEnough):
		return
	case errors.As(err, &compacted) && p.cacher.epoch.Load() == r.epoch:
		p.oldest = max(p.oldest, compacted.Oldest, r.from+1)
		p.answer(func(w *want) (answer, bool) { return answer{err: p.expired(w.after)}, w.after < p.oldest })
		return
	}
	if !errors.Is(err, errInterrupted) && p.cacher.ctx.Err() == nil {
		p.cacher.log.Warn("etcd's history can't be read for watches, and is asked for again",
			"resource", p.cacher.config.GroupResource.String(), "revision", r.at, "error", err)
	}
	p.answer(func(*want) (answer, bool) { return answer{err: err}, true })
}

// trim drops pages that were not used for the history's window.
func (p *past) trim(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages = slices.DeleteFunc(p.pages, func(other *page) bool {
		old := now.Sub(other.used) > p.cacher.limits.HistoryWindow
		if old {
			p.drop(other)
		}
		return old
	})
}

// forget drops all: etcd has another history.
func (p *past) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages, p.events, p.bytes, p.oldest = nil, 0, 0, 0
}

// close has no read begin any more.
func (p *past) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

// position is a watcher's progress. With an empty key it was given everything up to the revision; otherwise,
// everything up to the change of that key at that revision, which may have changed other keys too.
type position struct {
	revision int64
	key      string
}

// positionAfter is the position behind an event.
func positionAfter(e *event) position {
	if e.more {
		return position{e.revision, e.key}
	}
	return position{revision: e.revision}
}

// after returns the newest revision whose changes have all been given.
func (p position) after() int64 {
	if p.key != "" {
		return p.revision - 1
	}
	return p.revision
}

// seek is the index of the first event that is still to be given.
func (p position) seek(events []*event) int {
	first := sort.Search(len(events), func(i int) bool { return events[i].revision > p.after() })
	if p.key == "" {
		return first
	}
	for i := first; i < len(events) && events[i].revision == p.revision; i++ {
		if events[i].key == p.key {
			return i + 1
		}
	}
	return first
}
