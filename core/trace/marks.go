package trace

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/kx-apiserver/kx/core/steps"
)

// MarkRecord describes the work of a shared goroutine on a revision of the journey.
type MarkRecord struct {
	ID       steps.ID
	Revision int64
	// After is the time from the beginning of the journey.
	After time.Duration
}

// maxMarks bounds the marks of a journey: one that deletes a collection writes many revisions.
const maxMarks = 96

// MarkTime returns the time of a mark, and stores the place in the code.
func MarkTime(id steps.ID) time.Time {
	if sites[id].Load() == 0 {
		sites[id].Store(caller())
	}
	return time.Now()
}

// Marker joins marks of a revision to the journey that wrote it.
type Marker struct {
	j        *Journey
	revision int64
	heldBack atomic.Bool
}

// NewMarker says that the journey of ctx wrote a revision and takes its marks. It returns nil if no journey is
// recorded.
func NewMarker(ctx context.Context, revision int64) *Marker {
	j := FromContext(ctx)
	if j == nil {
		return nil
	}
	return &Marker{j: j, revision: revision}
}

// Revision returns the revision whose marks are awaited.
func (w *Marker) Revision() int64 { return w.revision }

// Mark adds a mark to the journey, even if it has ended.
func (w *Marker) Mark(id steps.ID, at time.Time) {
	j := w.j
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.marks) == maxMarks {
		j.cut.Add(1)
		return
	}
	j.marks = append(j.marks, MarkRecord{ID: id, Revision: w.revision, After: at.Sub(j.started)})
}
