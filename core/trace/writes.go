package trace

import (
	"context"
	"time"
)

// Delivery is a watch event that a journey's write caused, on its way to one watcher of this process.
type Delivery struct {
	// Watcher is the ID of the journey of the watch.
	Watcher, User, UserAgent string
	Type                     string
	Revision                 int64
	// After is how long after the beginning of the write's journey the event was sent.
	After time.Duration
}

// writes remembers which journeys made the latest revisions. It is guarded by the Recorder's mu.
type writes struct {
	byRevision map[int64]*Journey
	ring       []int64 // the revisions remembered
	next       int
}

func newWrites(n int) writes {
	return writes{byRevision: make(map[int64]*Journey, n), ring: make([]int64, n)}
}

func (w *writes) add(revision int64, j *Journey) {
	delete(w.byRevision, w.ring[w.next])
	w.ring[w.next] = revision
	w.next = (w.next + 1) % len(w.ring)
	w.byRevision[revision] = j
}

// Wrote says that the request which ctx belongs to made a revision, so that the watch events that it causes can be
// joined to it.
func Wrote(ctx context.Context, revision int64) {
	j := FromContext(ctx)
	if j == nil {
		return
	}
	j.rec.mu.Lock()
	j.rec.writes.add(revision, j)
	j.rec.mu.Unlock()
}

// Delivered says that the watch which ctx belongs to sent the event of a revision to its client. The journey that wrote
// the revision, if it is known, is told.
func Delivered(ctx context.Context, eventType string, revision int64) {
	watcher := FromContext(ctx)
	if watcher == nil {
		return
	}
	r := watcher.rec
	r.mu.Lock()
	writer := r.writes.byRevision[revision]
	r.mu.Unlock()
	if writer == nil || writer == watcher {
		return
	}
	watcher.mu.Lock()
	d := Delivery{
		Watcher: watcher.id, User: watcher.request.User, UserAgent: watcher.request.UserAgent,
		Type: eventType, Revision: revision,
	}
	watcher.mu.Unlock()
	writer.deliver(d)
}

func (j *Journey) deliver(d Delivery) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.deliveries) == maxDeliveries {
		j.cut++
		return
	}
	d.After = time.Since(j.started)
	j.deliveries = append(j.deliveries, d)
}

// maxDeliveries bounds how many watchers a write is said to have reached.
const maxDeliveries = 256
