package trace

import (
	"context"
	"sync/atomic"
	"time"
)

// MarkRecord is what a goroutine that requests share did with a revision that the journey made.
type MarkRecord struct {
	ID       ID
	Revision int64
	// After is how long after the beginning of the journey that was.
	After time.Duration
}

// maxMarks bounds how many marks a journey has: one that deletes many objects makes many revisions.
const maxMarks = 96

// At is now, the moment of a mark. It notes where the mark is made.
func At(id ID) time.Time {
	if sites[id].Load() == 0 {
		sites[id].Store(caller())
	}
	return time.Now()
}

// Waiting is a journey that waits for the marks of a revision that it made.
type Waiting struct {
	j        *Journey
	revision int64
	heldBack atomic.Bool
}

// Await says that the journey of ctx made a revision, and waits for its marks. Nil is nobody who waits.
func Await(ctx context.Context, revision int64) *Waiting {
	j := FromContext(ctx)
	if j == nil {
		return nil
	}
	return &Waiting{j: j, revision: revision}
}

// Revision is what is waited for.
func (w *Waiting) Revision() int64 { return w.revision }

// Mark tells the journey of a mark, which may be when it has ended.
func (w *Waiting) Mark(id ID, at time.Time) {
	j := w.j
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.marks) == maxMarks {
		j.cut.Add(1)
		return
	}
	j.marks = append(j.marks, MarkRecord{ID: id, Revision: w.revision, After: at.Sub(j.started)})
}
