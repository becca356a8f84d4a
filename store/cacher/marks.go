package cacher

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// marks tell the journeys of this process's writes what the cache did with their events, and when.
//
// An event may come before or after its writer is known. The writer leaves a note and then checks whether the event
// has been marked. The reflector sets the mark and then checks for a note. So at least one of them finds the other,
// and the one that takes the note tells the journey. Neither waits, and an event without a waiting journey costs one
// atomic load. All fields are atomic: there is no lock.
type marks struct {
	marked atomic.Int64 // up to this revision
	notes  [maxWritten]atomic.Pointer[trace.Marker]
}

func (m *marks) note(revision int64) *atomic.Pointer[trace.Marker] {
	return &m.notes[revision%maxWritten]
}

// await tells the journey of ctx of the marks of a revision that it wrote, as soon as there are any.
func (c *Cacher) await(ctx context.Context, revision int64) {
	if !c.begun.Load() {
		return // it follows nothing, and will not see the event
	}
	waiting := trace.NewMarker(ctx, revision)
	if waiting == nil {
		return
	}
	note := c.marks.note(revision)
	note.Store(waiting)
	if late := c.late.Load(); late != nil {
		waiting.HeldBack(late.rule, late.Err.Error())
	}
	if c.marks.marked.Load() < revision || !note.CompareAndSwap(waiting, nil) {
		return
	}
	if e := c.watchCache.eventAt(revision); e != nil {
		e.tell(waiting)
	}
}

// mark is called when events, all up to a revision, have been processed and are about to go to watchers.
func (c *Cacher) mark(events []*event, revision int64, dispatched time.Time) {
	for _, e := range events {
		e.dispatched = dispatched
	}
	c.marks.marked.Store(max(revision, c.marks.marked.Load()))
	for _, e := range events {
		note := c.marks.note(e.revision)
		if waiting := note.Load(); waiting != nil && waiting.Revision() == e.revision && note.CompareAndSwap(waiting, nil) {
			e.tell(waiting)
		}
	}
}

// forget begins anew at a revision.
func (m *marks) forget(revision int64) {
	m.marked.Store(revision)
	for i := range m.notes {
		m.notes[i].Store(nil)
	}
}

// tell is called when all of the event's moments are known.
func (e *event) tell(waiting *trace.Marker) {
	waiting.Mark(steps.CacherReflect, e.at)
	waiting.Mark(steps.CacherProcessEvent, e.processed)
	waiting.Mark(steps.CacherDispatch, e.dispatched)
}

// eventAt is the event of a revision, nil if it is forgotten.
func (w *watchCache) eventAt(revision int64) *event {
	var found [1]*event
	w.mu.RLock()
	defer w.mu.RUnlock()
	seq, ok := w.history.after(position{revision: revision - 1})
	if !ok {
		return nil
	}
	if n, _ := w.history.read(seq, found[:]); n == 0 || found[0].revision != revision {
		return nil
	}
	return found[0]
}
