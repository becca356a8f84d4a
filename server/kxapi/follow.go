package kxapi

import (
	"context"
	"maps"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
)

const (
	// journeysABatch limits the new journeys in each batch of a follower: 3,000 per second.
	journeysABatch = 100

	// bookmarkEvery is the time between bookmarks while nothing matches, for clients that take them.
	bookmarkEvery = 10 * time.Second

	// installsEvery is the time between checks for new installs, for a follower that asks for them. A definition makes
	// some.
	installsEvery = time.Second

	// sampledAnnotation of a bookmark is the number of new journeys that the watch omitted since the previous one.
	sampledAnnotation = "kx.dev/left-out"
)

// follower is one watch of journeys.
//
// Purpose: to tell one client what happens, while no other code waits for it.
//
//  1. Only follow touches the fields below selection.
//  2. sent holds the journeys that the client knows. The client gets no event of any other journey, such as an omitted
//     one, unless that begins to match.
type follower struct {
	versionFeed
	recorder  *trace.Recorder
	selection selection

	seq  uint64
	sent map[*trace.Journey]bool
	// installs holds the installs that the client knows, by name; nil if it does not ask for any. looked is the time of
	// the last check.
	installs map[string]v1alpha1.Journey
	looked   time.Time
	leftOut  int
	told     time.Time // when the client last got a resourceVersion
}

func newFollower(recorder *trace.Recorder, s selection) *follower {
	return &follower{
		versionFeed: versionFeed{events: make(chan watch.Event, journeysABatch)}, recorder: recorder, selection: s,
		sent: map[*trace.Journey]bool{}, told: time.Now(),
	}
}

func (f *follower) follow(ctx context.Context, initial bool) {
	defer close(f.events)
	defer f.stop()
	delivered := f.selection.filter.Asks("delivered")
	if delivered {
		defer f.recorder.TellDeliveries()()
	}
	if initial && !f.sendAll(ctx) {
		return
	}
	if !initial {
		f.remember()
	}
	if !initial && delivered && !f.repeat(ctx) {
		return
	}
	f.run(ctx, f.wait, f.sendNew)
}

// wait waits until there may be changes.
func (f *follower) wait(ctx context.Context) bool {
	if f.installs == nil {
		return f.recorder.Wait(ctx, f.seq) == nil
	}
	some, cancel := context.WithTimeout(ctx, installsEvery)
	defer cancel()
	return f.recorder.Wait(some, f.seq) == nil || ctx.Err() == nil
}

// sendInstalls sends the installs that the client does not know, and deletes those that are gone.
func (f *follower) sendInstalls(ctx context.Context) bool {
	if f.installs == nil || time.Since(f.looked) < installsEvery {
		return true
	}
	f.looked = time.Now()
	now := f.selection.installsByName(f.selection.text(f.seq))
	for name, j := range f.installs {
		if _, ok := now[name]; !ok && !f.tell(ctx, watch.Deleted, &j) {
			return false
		}
	}
	for name, j := range now {
		if _, ok := f.installs[name]; !ok && !f.tell(ctx, watch.Added, &j) {
			return false
		}
	}
	f.installs = now
	return true
}

// remember sets the journeys that the client knows: the matching ones as of the change after which the watch starts.
func (f *follower) remember() {
	then, _ := f.recorder.List()
	later, _ := f.recorder.Since(f.seq) // if some are lost, sendNew ends the watch
	began, ended := map[*trace.Journey]bool{}, map[*trace.Journey]bool{}
	for _, c := range later {
		switch c.Type {
		case trace.Began:
			began[c.Journey] = true
		case trace.Ended:
			ended[c.Journey] = true
		case trace.Forgotten:
			then = append(then, c)
		}
	}
	f.installs = f.selection.installsByName("")
	maps.DeleteFunc(f.installs, func(_ string, j v1alpha1.Journey) bool {
		return time.Since(j.Status.Started.Time) < installsEvery // it may be newer than the list
	})
	for _, c := range then {
		if !began[c.Journey] && f.selection.wanted(c, ended[c.Journey]) {
			f.sent[c.Journey] = true
		}
	}
}

// repeat sends the matching journeys that the client has. A delivery before [trace.Recorder.TellDeliveries] was no
// change, so a journey may have begun to match since the client's list.
func (f *follower) repeat(ctx context.Context) bool {
	changes, _ := f.recorder.List()
	for _, c := range changes {
		if !f.sent[c.Journey] {
			continue
		}
		if j := f.selection.pick(c); j != nil && !f.tell(ctx, watch.Modified, j) {
			return false
		}
	}
	return true
}

// sendAll sends the kept journeys, and then a bookmark if the client asked for one.
func (f *follower) sendAll(ctx context.Context) bool {
	var changes []trace.Change
	changes, f.seq = f.recorder.List()
	f.installs = f.selection.installsByName(f.selection.text(f.seq))
	for _, j := range f.installs {
		if !f.tell(ctx, watch.Added, &j) {
			return false
		}
	}
	for _, c := range changes {
		if j := f.selection.pick(c); j != nil {
			f.sent[c.Journey] = true
			if !f.tell(ctx, watch.Added, j) {
				return false
			}
		}
	}
	return !endsInitial(f.selection.options) || f.bookmark(ctx, setEndOfInitial)
}

// sendNew sends the changes since the last call.
func (f *follower) sendNew(ctx context.Context) bool {
	changes, lost := f.recorder.Since(f.seq)
	if lost > 0 {
		f.fallBehind(ctx)
		return false
	}
	if !f.sendInstalls(ctx) {
		return false
	}
	if len(changes) == 0 {
		return true
	}
	added := 0
	for i, c := range changes {
		f.seq = c.Seq
		if c.Type == trace.Began && endsAmong(changes[i+1:], c.Journey) {
			continue // a finished journey needs only its last event, and a discarded one none
		}
		eventType, j := f.eventOf(c)
		if j == nil {
			continue
		}
		if eventType == watch.Added {
			if added++; added > journeysABatch {
				delete(f.sent, c.Journey)
				f.leftOut++
				continue
			}
		}
		if !f.tell(ctx, eventType, j) {
			return false
		}
	}
	if !f.selection.options.AllowWatchBookmarks {
		return true
	}
	if f.leftOut > 0 {
		text := strconv.Itoa(f.leftOut)
		f.leftOut = 0
		return f.bookmark(ctx, func(b metav1.Object) { b.SetAnnotations(map[string]string{sampledAnnotation: text}) })
	}
	return time.Since(f.told) <= bookmarkEvery || f.bookmark(ctx, func(metav1.Object) {})
}

// endsAmong reports whether a journey ends, or is discarded, in one of the next few changes.
func endsAmong(changes []trace.Change, j *trace.Journey) bool {
	const few = 16
	for _, c := range changes[:min(few, len(changes))] {
		if c.Journey == j {
			return c.Type == trace.Ended || c.Type == trace.Forgotten
		}
	}
	return false
}

// eventOf returns this client's event for a change. The journey is nil if there is none.
func (f *follower) eventOf(c trace.Change) (watch.EventType, *v1alpha1.Journey) {
	known := f.sent[c.Journey]
	if c.Type == trace.Forgotten {
		if !known {
			return "", nil
		}
		delete(f.sent, c.Journey)
		return watch.Deleted, f.selection.summary(c)
	}
	j := f.selection.pick(c)
	switch {
	case j != nil && known:
		return watch.Modified, j
	case j != nil:
		f.sent[c.Journey] = true
		return watch.Added, j
	case known:
		delete(f.sent, c.Journey)
		return watch.Deleted, f.selection.summary(c)
	}
	return "", nil
}

// bookmark sends the change up to which the client knows everything.
func (f *follower) bookmark(ctx context.Context, mark func(metav1.Object)) bool {
	j := &v1alpha1.Journey{}
	j.ResourceVersion = f.selection.text(f.seq)
	mark(j)
	return f.tell(ctx, watch.Bookmark, j)
}

func (f *follower) tell(ctx context.Context, eventType watch.EventType, j *v1alpha1.Journey) bool {
	f.told = time.Now()
	return f.send(ctx, eventType, j)
}
