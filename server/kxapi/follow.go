package kxapi

import (
	"context"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
)

const (
	// batchEvery is how often a follower is sent what happened: as often as a screen is drawn.
	batchEvery = 33 * time.Millisecond
	// journeysABatch is how many new journeys it is sent at most each time, 3,000 a second.
	journeysABatch = 100

	// bookmarkEvery is how often a client that takes bookmarks learns how far it is while nothing matches.
	bookmarkEvery = 10 * time.Second

	// SampledAnnotation is, on a bookmark, how many new journeys the watch left out since the last bookmark.
	SampledAnnotation = "kx.dev/left-out"
)

// follower is one watch of journeys.
//
// Purpose: to tell one client what happens, without anybody waiting for it.
//
//  1. Only run touches what is below stop.
//  2. sent holds the journeys that the client knows of. What it was not told of as new, because it did not match or was
//     left out, it is told nothing of later, unless it begins to match.
type follower struct {
	recorder  *trace.Recorder
	selection selection
	events    chan watch.Event
	stop      context.CancelFunc

	seq     uint64
	sent    map[*trace.Journey]bool
	leftOut int
	told    time.Time // when the client was last told of a resourceVersion
}

func newFollower(recorder *trace.Recorder, s selection) *follower {
	return &follower{
		recorder: recorder, selection: s,
		events: make(chan watch.Event, journeysABatch),
		sent:   map[*trace.Journey]bool{},
		told:   time.Now(),
	}
}

func (f *follower) ResultChan() <-chan watch.Event { return f.events }
func (f *follower) Stop()                          { f.stop() }

func (f *follower) run(ctx context.Context, initial bool) {
	defer close(f.events)
	defer f.stop()
	if initial && !f.sendAll(ctx) {
		return
	}
	if !initial {
		f.remember()
	}
	pause := time.NewTimer(batchEvery)
	defer pause.Stop()
	for {
		if f.recorder.Wait(ctx, f.seq) != nil {
			return
		}
		// What happens at once is sent at once: the first change is not waited for longer than it has to be.
		if !f.sendNew(ctx) {
			return
		}
		pause.Reset(batchEvery)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

// remember finds out which journeys the client knows of: those that were wanted at the change that it begins from.
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
	for _, c := range then {
		if !began[c.Journey] && f.selection.wanted(c, ended[c.Journey]) {
			f.sent[c.Journey] = true
		}
	}
}

// sendAll sends what is kept, and the bookmark that ends it if the client asked for one.
func (f *follower) sendAll(ctx context.Context) bool {
	var changes []trace.Change
	changes, f.seq = f.recorder.List()
	for _, c := range changes {
		if j := f.selection.pick(c); j != nil {
			f.sent[c.Journey] = true
			if !f.send(ctx, watch.Added, j) {
				return false
			}
		}
	}
	options := f.selection.options
	if options.SendInitialEvents == nil || !options.AllowWatchBookmarks {
		return true
	}
	return f.bookmark(ctx, metav1.InitialEventsAnnotationKey, "true")
}

// sendNew sends what has happened since the last time.
func (f *follower) sendNew(ctx context.Context) bool {
	changes, lost := f.recorder.Since(f.seq)
	if lost > 0 {
		err := apierrors.NewResourceExpired("too old resource version: the watch fell behind: list again")
		f.send(ctx, watch.Error, &err.ErrStatus)
		return false
	}
	if len(changes) == 0 {
		return true
	}
	added := 0
	for i, c := range changes {
		f.seq = c.Seq
		if c.Type == trace.Began && endsAmong(changes[i+1:], c.Journey) {
			continue // it is over: one event tells all of it, or none if it is not to be recorded
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
		if !f.send(ctx, eventType, j) {
			return false
		}
	}
	if !f.selection.options.AllowWatchBookmarks {
		return true
	}
	if f.leftOut > 0 {
		text := strconv.Itoa(f.leftOut)
		f.leftOut = 0
		return f.bookmark(ctx, SampledAnnotation, text)
	}
	if time.Since(f.told) > bookmarkEvery {
		return f.bookmark(ctx, "", "")
	}
	return true
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

// eventOf is what a change is to this client; a nil journey is nothing.
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

// bookmark tells the client how far it is, with an annotation unless that has no name.
func (f *follower) bookmark(ctx context.Context, annotation, value string) bool {
	j := &v1alpha1.Journey{}
	j.ResourceVersion = strconv.FormatUint(f.selection.base+f.seq, 10)
	if annotation != "" {
		j.Annotations = map[string]string{annotation: value}
	}
	return f.send(ctx, watch.Bookmark, j)
}

func (f *follower) send(ctx context.Context, eventType watch.EventType, object runtime.Object) bool {
	select {
	case f.events <- watch.Event{Type: eventType, Object: object}:
		f.told = time.Now()
		return true
	case <-ctx.Done():
		return false
	}
}
