package cacher

import (
	"sync/atomic"
	"time"

	"github.com/kx-apiserver/kx/core/object"
)

// event is one change, as the cache keeps it. It never changes.
type event struct {
	// seq counts the events of this cache, without gaps.
	seq      int64
	revision int64
	key      string
	// object is nil if this is a deletion, prev if it is a creation.
	object, prev *object.Encoded
	// more says that another event of the same revision follows. etcd sends the changes of a revision together.
	more bool
	// at is when it came, processed when it became part of the state, dispatched when it went to watchers.
	at, processed, dispatched time.Time
	// bytes counts the memory that only the history keeps alive: mostly the state before.
	bytes int

	// gone is prev at this event's revision, made when the first watcher needs it.
	gone atomic.Pointer[object.Encoded]
}

// lastState is the last state of an object that is deleted, or no longer selected, at the revision of that.
func (e *event) lastState() *object.Encoded {
	if gone := e.gone.Load(); gone != nil {
		return gone
	}
	gone := e.prev.At(e.revision)
	if !e.gone.CompareAndSwap(nil, gone) {
		return e.gone.Load()
	}
	return gone
}

// eventBytes estimates the memory of an event without the states of its object.
const eventBytes = 256

// historyLimits say how many events are kept: those of the last window, at least min, but neither more than max nor
// more than maxBytes of them.
type historyLimits struct {
	window   time.Duration
	min, max int
	maxBytes int
}

// history is the latest events, in order. Its caller locks.
type history struct {
	limits historyLimits
	// events[head:] are kept.
	events []*event
	head   int
	bytes  int
	// next is the seq of the next event, since the revision after which all events are kept.
	next, since int64
}

func (h *history) len() int { return len(h.events) - h.head }

// reset drops all events. Events after revision will be kept. No event gets the next seq: a watcher that waits for it
// thus learns that it missed something.
func (h *history) reset(revision int64) {
	h.events, h.head, h.bytes, h.since = nil, 0, 0, revision
	h.next++
}

func (h *history) append(e *event) {
	e.seq = h.next
	h.next++
	h.events = append(h.events, e)
	e.bytes = eventBytes
	if e.prev != nil {
		e.bytes += e.prev.Size()
	}
	h.bytes += e.bytes
	h.trim(e.at)
}

// trim drops events beyond the limits.
func (h *history) trim(now time.Time) {
	for h.len() > 0 {
		oldest := h.events[h.head]
		over := h.len() > h.limits.max || h.bytes > h.limits.maxBytes
		old := h.len() > h.limits.min && now.Sub(oldest.at) > h.limits.window
		if !over && !old {
			break
		}
		h.events[h.head] = nil
		h.head++
		h.bytes -= oldest.bytes
		h.since = oldest.revision
	}
	if h.head > h.limits.min && h.head > len(h.events)/2 {
		h.events = append(make([]*event, 0, h.len()*5/4), h.events[h.head:]...)
		h.head = 0
	}
}

// after is the seq of the first event after a position. Not ok says that some of them are forgotten.
func (h *history) after(at position) (seq int64, ok bool) {
	if at.after() < h.since {
		return 0, false
	}
	kept := h.events[h.head:]
	return h.next - int64(len(kept)-at.seek(kept)), true
}

// read copies the events from seq on into buf. Not ok says that the first of them is forgotten.
func (h *history) read(seq int64, buf []*event) (n int, ok bool) {
	first := h.next - int64(h.len())
	if seq < first {
		return 0, false
	}
	return copy(buf, h.events[h.head+int(seq-first):]), true
}
