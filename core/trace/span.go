package trace

import (
	"context"
	"encoding/binary"
	"encoding/hex"
)

// Span is the place of a journey in a distributed trace, as W3C Trace Context has it. It does not change once a journey
// has it.
//
// The request is one span, and each of its steps is another. Their IDs are numbers in a row, so that nothing has to be
// kept of them.
type Span struct {
	// Trace is the ID of the trace.
	Trace [16]byte
	// ID is the span of the request. Those of its steps follow it.
	ID uint64
	// Parent is the span of another program that the request belongs to; 0 if the request begins the trace.
	Parent uint64
	// Sampled says that the trace is exported.
	Sampled bool
	// State is the trace state of the Parent, as its header has it.
	State string
	// Through: the request has no span of its own. ID is the span of another program, and requests that the server
	// sends belong to that.
	Through bool
	// Linked is the trace that an untrusted incoming request claims to belong to. The zero value is no trace.
	Linked Link
}

// Link is a span of another program.
type Link struct {
	Trace [16]byte
	ID    uint64
}

// OfStep is the span of a step, by its index.
func (s *Span) OfStep(index int) uint64 {
	id := s.ID + uint64(index) + 1
	if id < s.ID {
		id++ // 0 is no ID
	}
	return id
}

// SetSpan gives the journey its place in a trace. The request's own goroutine calls it once, before any Fork. A journey
// that is full gets none.
func (j *Journey) SetSpan(s *Span) {
	j.lock()
	if j.room(spanBytes + len(s.State)) {
		j.span.Store(s)
	}
	j.unlock()
}

// Span is the journey's place in a trace, or nil.
func (j *Journey) Span() *Span { return j.span.Load() }

// TraceID is the trace that the journey is exported in, in hexadecimal; empty if it is not exported.
func (s *Span) TraceID() string {
	if s == nil || !s.Sampled || s.Through {
		return ""
	}
	return hex.EncodeToString(s.Trace[:])
}

// The headers of W3C Trace Context.
const (
	ParentHeader = "traceparent"
	StateHeader  = "tracestate"
)

// Propagate sets the headers by which the next server continues the trace of ctx, below the present step. Without a
// trace it sets none.
func Propagate(ctx context.Context, set func(name, value string)) {
	b, ok := ctx.Value(branchKey{}).(*branch)
	if !ok {
		return
	}
	s := b.j.span.Load()
	if s == nil {
		return
	}
	id := s.ID
	if b.current != nil && !s.Through {
		id = s.OfStep(int(b.current.index))
	}
	set(ParentHeader, s.parent(id))
	if s.State != "" {
		set(StateHeader, s.State)
	}
}

// parent is the header that names one of the spans.
func (s *Span) parent(id uint64) string {
	const version, unsampled, sampled = "00-", "-00", "-01"
	var span [8]byte
	binary.BigEndian.PutUint64(span[:], id)
	out := make([]byte, 0, 55)
	out = append(out, version...)
	out = hex.AppendEncode(out, s.Trace[:])
	out = append(out, '-')
	out = hex.AppendEncode(out, span[:])
	if s.Sampled {
		return string(append(out, sampled...))
	}
	return string(append(out, unsampled...))
}
