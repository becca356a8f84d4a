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
	// journeysABatch is how many new journeys a follower is sent at most in each batch, 3,000 a second.
	journeysABatch = 100

	// bookmarkEvery is how often a client that takes bookmarks learns how far it is while nothing matches.
	bookmarkEvery = 10 * time.Second

	// installsEvery is how often a follower who asks for installs looks whether there are others: a definition makes some.
	installsEvery = time.Second

	// SampledAnnotation is on a bookmark: the number of new journeys that the watch left out since the one before.
	SampledAnnotation = "kx.dev/left-out"
)

// follower is one watch of journeys.
//
// Purpose: to tell one client what happens, without anybody waiting for it.
//
//  1. Only follow touches what is below selection.
//  2. sent holds the journeys that the client knows. It hears nothing of any other, such as one that was left out, unless
//     that begins to match.
type follower struct {
	feed
	recorder  *trace.Recorder
	selection selection

	seq  uint64
	sent map[*trace.Journey]bool
	// installs are those that the client knows, by name; nil if it does not ask for any. looked is when they were looked for.
	installs map[string]v1alpha1.Journey
	looked   time.Time
	leftOut  int
	told     time.Time // when the client was last told of a resourceVersion
}

func newFollower(recorder *trace.Recorder, s selection) *follower {
	return &follower{
		feed: feed{events: make(chan watch.Event, journeysABatch)}, recorder: recorder, selection: s,
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

// wait waits until something may have happened.
func (f *follower) wait(ctx context.Context) bool {
	if f.installs == nil {
		return f.recorder.Wait(ctx, f.seq) == nil
	}
	some, cancel := context.WithTimeout(ctx, installsEvery)
	defer cancel()
	return f.recorder.Wait(some, f.seq) == nil || ctx.Err() == nil
}

// sendInstalls sends those that the client does not know, and takes back those that are no more.
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

// remember notes the journeys that the client knows: those that it asked for, as of the change that it starts after.
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
		return time.Since(j.Status.Started.Time) < installsEvery // it may have come since the list
	})
	for _, c := range then {
		if !began[c.Journey] && f.selection.wanted(c, ended[c.Journey]) {
			f.sent[c.Journey] = true
		}
	}
}

// repeat sends what the client should know. A delivery before [trace.Recorder.TellDeliveries] was no change, so a journey may match
// since the client's list.
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

// sendAll sends the journeys that are kept, and the bookmark behind them if the client asked for one.
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

// sendNew sends what has happened since the last time.
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
			continue // one event tells all of a journey that is over, and none tells of one that is discarded
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
		return f.bookmark(ctx, func(b metav1.Object) { b.SetAnnotations(map[string]string{SampledAnnotation: text}) })
	}
	return time.Since(f.told) <= bookmarkEvery || f.bookmark(ctx, func(metav1.Object) {})
}

// endsAmong says whether a journey ends, or is discarded, in one of the next few changes.
func endsAmong(changes []trace.Change, j *trace.Journey) bool {
	const few = 16
	for _, c := range changes[:min(few, len(changes))] {
		if c.Journey == j {
			return c.Type == trace.Ended || c.Type == trace.Forgotten
		}
	}
	return false
}

// eventOf is the event by which this client hears of a change; there is none if the journey is nil.
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

// bookmark tells the client up to which change it knows everything.
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
