package trace

import (
	"context"
	"time"
)

// Delivery is the sending of a watch event, caused by a journey's write, to one watcher of this process.
type Delivery struct {
	// Watcher is the ID of the journey of the watch.
	Watcher, User, UserAgent string
	Type                     string
	Revision                 int64
	// After is the time from the beginning of the write's journey to the sending.
	After time.Duration
}

// writes remembers which journeys wrote the latest revisions. The Recorder's mu guards it.
type writes struct {
	byRevision map[int64]*write
	ring       []int64 // the revisions remembered
	next       int
}

// write is a revision that was written or delivered.
type write struct {
	journey *Journey // nil until a journey of this process claims the write
	// early are deliveries before the journey is known: an event may overtake the answer to its write.
	early []earlyDelivery
	// effects are journeys that the write caused, before its own is known.
	effects []*Journey
}

type earlyDelivery struct {
	Delivery
	at time.Time
}

func newWrites(n int) writes {
	return writes{byRevision: make(map[int64]*write, n), ring: make([]int64, n)}
}

func (w *writes) find(revision int64) *write {
	if known := w.byRevision[revision]; known != nil {
		return known
	}
	delete(w.byRevision, w.ring[w.next])
	w.ring[w.next] = revision
	w.next = (w.next + 1) % len(w.ring)
	made := &write{}
	w.byRevision[revision] = made
	return made
}

// Wrote records that the request of ctx wrote a revision. The revision's watch events are then joined to the journey.
func Wrote(ctx context.Context, revision int64) {
	b, ok := ctx.Value(branchKey{}).(*branch)
	if !ok {
		return
	}
	j := b.j
	j.mu.Lock()
	j.wrote, j.revision = 0, revision
	if b.current != nil {
		j.wrote = b.current.index + 1
	}
	j.mu.Unlock()
	j.rec.mu.Lock()
	w := j.rec.writes.find(revision)
	w.journey = j
	early, effects := w.early, w.effects
	w.early, w.effects = nil, nil
	j.rec.mu.Unlock()
	for _, d := range early {
		j.deliver(d.Delivery, d.at)
	}
	for _, effect := range effects {
		j.linkEffect(effect)
	}
}

// Writer is the ID of the kept journey that wrote a revision, or empty.
func (r *Recorder) Writer(revision int64) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.writes.byRevision[revision]
	if w == nil || w.journey == nil || w.journey.at < 0 {
		return ""
	}
	return w.journey.id
}

// RecordDelivery records that the watch of ctx sent the event of a revision to its client. The journey that wrote the
// revision gets a Delivery, as soon as it is known.
func RecordDelivery(ctx context.Context, eventType string, revision int64) {
	watcher := FromContext(ctx)
	if watcher == nil {
		return
	}
	at := time.Now()
	watcher.mu.Lock()
	d := Delivery{
		Watcher: watcher.id, User: watcher.request.User, UserAgent: watcher.request.UserAgent,
		Type: eventType, Revision: revision,
	}
	watcher.mu.Unlock()
	r := watcher.rec
	r.mu.Lock()
	w := r.writes.find(revision)
	writer := w.journey
	if writer == nil && len(w.early) < maxEarly {
		w.early = append(w.early, earlyDelivery{d, at})
	}
	r.mu.Unlock()
	if writer != nil {
		writer.deliver(d, at)
	}
}

func (j *Journey) deliver(d Delivery, at time.Time) {
	if j.addDelivery(d, at) && j.rec.told.Load() > 0 {
		j.rec.tellChanged(j)
	}
}

func (j *Journey) addDelivery(d Delivery, at time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.deliveries) == maxDeliveries {
		j.cut.Add(1)
		return false
	}
	d.After = at.Sub(j.started)
	j.deliveries = append(j.deliveries, d)
	return true
}

// maxEarly bounds the early deliveries of a revision, which may belong to another server or a controller.
const maxEarly = 16

// maxDeliveries bounds the deliveries of a write.
const maxDeliveries = 256
