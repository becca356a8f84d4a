package trace

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// Level is how much of a journey is recorded.
type Level uint8

const (
	// Steps records what happened, in which order, how long it took and why.
	Steps Level = iota
	// Objects also records objects, before and after the steps that change them.
	Objects
)

// Attr is one thing that went into a step or came out of it.
type Attr struct {
	Name  string
	Text  string // what it was, unless it was a number
	Int   int64
	IsInt bool
}

// Step is one call in one layer. A nil Step does nothing.
type Step struct {
	j      *Journey
	branch *branch
	id     ID
	index  int32
	parent int32 // index of the step that called this one; -1 for none
	start  time.Duration
	took   time.Duration // -1 while running

	subject string
	why     string
	err     string
	attrs   []Attr
	few     [2]Attr // where attrs begins, so that most steps need no more
	objects *objects
	acts    *acts // nil unless there were rules when the step began
}

// objects are what a step saw, if objects are recorded.
type objects struct{ before, after []byte }

// branch is a line of steps that nest: one a goroutine.
type branch struct {
	j       *Journey
	current int32
	shared  bool // others wait for what is done now
}

type branchKey struct{}

// ContextWith returns a context in which steps are recorded in j.
func ContextWith(ctx context.Context, j *Journey) context.Context {
	return context.WithValue(ctx, branchKey{}, &branch{j: j, current: -1})
}

// FromContext is the journey that ctx records in, or nil.
func FromContext(ctx context.Context) *Journey {
	if b, ok := ctx.Value(branchKey{}).(*branch); ok {
		return b.j
	}
	return nil
}

// Fork returns a context for work on another goroutine. Its steps become children of the step that is current now.
func Fork(ctx context.Context) context.Context {
	b, ok := ctx.Value(branchKey{}).(*branch)
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, branchKey{}, &branch{j: b.j, current: b.current})
}

// sites holds where each step is taken: a program counter, stored the first time.
var sites [numSteps]atomic.Uintptr

// Start begins a step of the request that ctx belongs to. subject is what the step is about: a key, a resource, a path.
// The context that it returns is the one to go on with. It may return late: a request can be held at a step.
func Start(ctx context.Context, id ID, subject string) (context.Context, *Step) {
	b, ok := ctx.Value(branchKey{}).(*branch)
	if !ok {
		return ctx, nil
	}
	if sites[id].Load() == 0 {
		sites[id].Store(caller())
	}
	step := b.begin(id, subject)
	if step != nil && b.j.rec.control.rules.Load() != nil {
		step.acts = &acts{ctx: ctx}
		b.j.rec.control.reached(step)
	}
	return ctx, step
}

// StartObject is Start for a step that is about to work on obj, which it records as it was before. The object must be the
// request's own: whoever holds the request may edit it.
func StartObject(ctx context.Context, id ID, subject string, obj apiruntime.Object) (context.Context, *Step) {
	b, ok := ctx.Value(branchKey{}).(*branch)
	if !ok {
		return ctx, nil
	}
	if sites[id].Load() == 0 {
		sites[id].Store(caller())
	}
	step := b.begin(id, subject)
	step.Before(obj)
	if step != nil && b.j.rec.control.rules.Load() != nil {
		step.acts = &acts{ctx: ctx, object: obj}
		b.j.rec.control.reached(step)
	}
	return ctx, step
}

// caller is where the function was called that calls it.
func caller() uintptr {
	var pc [1]uintptr
	runtime.Callers(3, pc[:])
	return pc[0]
}

// begin adds a step and makes it the current one.
func (b *branch) begin(id ID, subject string) *Step {
	step := b.j.add(b, id, subject)
	if step != nil {
		b.current = step.index
	}
	return step
}

// Err is the error that the step is to fail with, at once and without doing anything: somebody wants it to. A step whose
// Info says that it Fails asks; the error is also what it ends with, whatever its End is told.
func (s *Step) Err() error {
	if s == nil || s.acts == nil {
		return nil
	}
	return s.acts.fail
}

// Sharing is work on which others wait as well.
type Sharing struct{ b *branch }

// Shared says that others wait for what the request does from now on until End: its steps are recorded, but neither held
// nor disturbed.
func Shared(ctx context.Context) Sharing {
	b, ok := ctx.Value(branchKey{}).(*branch)
	if !ok || b.shared {
		return Sharing{}
	}
	b.shared = true
	return Sharing{b}
}

// End says that the request is for itself again.
func (s Sharing) End() {
	if s.b != nil {
		s.b.shared = false
	}
}

// Steps are allocated in blocks: the first has room for what most journeys take.
const (
	firstSteps = 24
	moreSteps  = 8
)

// add appends a step, or counts it as cut and returns nil if the journey is full.
func (j *Journey) add(b *branch, id ID, subject string) *Step {
	j.mu.Lock()
	defer j.mu.Unlock()
	subject = clip(subject)
	if !j.room(stepBytes + len(subject)) {
		return nil
	}
	if len(j.free) == 0 {
		j.free = make([]Step, moreSteps)
	}
	step := &j.free[0]
	j.free = j.free[1:]
	step.j, step.branch, step.id, step.subject = j, b, id, subject
	step.index, step.parent = int32(len(j.steps)), b.current
	step.start, step.took = time.Since(j.started), -1
	step.attrs = step.few[:0]
	j.steps = append(j.steps, step)
	if id == StoreTryUpdate {
		j.tries++
	}
	return step
}

// End ends the step with *err (err may be nil).
func (s *Step) End(err *error) {
	if s == nil {
		return
	}
	j := s.j
	if s.acts != nil {
		j.rec.control.ending(s, err)
	}
	j.mu.Lock()
	s.took = time.Since(j.started) - s.start
	if err != nil && *err != nil {
		if s.err = clip((*err).Error()); !j.room(len(s.err)) {
			s.err = cutText
		}
	}
	j.mu.Unlock()
	s.branch.current = s.parent
}

// Recording says whether anybody sees what the step is told.
func (s *Step) Recording() bool { return s != nil }

// Objects says whether objects are recorded.
func (s *Step) Objects() bool { return s != nil && Level(s.j.level.Load()) >= Objects }

// Why says in one sentence why the step went the way it did. A later call replaces an earlier one.
func (s *Step) Why(sentence string) {
	if s == nil {
		return
	}
	j := s.j
	j.mu.Lock()
	defer j.mu.Unlock()
	if sentence = clip(sentence); j.room(len(sentence)) {
		s.why = sentence
	}
}

// Whyf is Why with a format, applied only if somebody records.
func (s *Step) Whyf(format string, args ...any) {
	if s != nil {
		s.Why(fmt.Sprintf(format, args...))
	}
}

// Int notes a number that went in or came out.
func (s *Step) Int(name string, v int64) {
	if s != nil {
		s.attr(Attr{Name: name, Int: v, IsInt: true})
	}
}

// Text notes what went in or came out.
func (s *Step) Text(name, v string) {
	if s != nil {
		s.attr(Attr{Name: name, Text: v})
	}
}

func (s *Step) attr(a Attr) {
	j := s.j
	j.mu.Lock()
	defer j.mu.Unlock()
	if a.Text = clip(a.Text); j.room(attrBytes + len(a.Text)) {
		s.attrs = append(s.attrs, a)
	}
}

// Before records obj as it was before the step changed it, if objects are recorded.
func (s *Step) Before(obj apiruntime.Object) {
	if s.Objects() {
		s.object(obj, func(o *objects, data []byte) { o.before = data })
	}
}

// After records obj as it was after the step changed it, if objects are recorded.
func (s *Step) After(obj apiruntime.Object) {
	if s.Objects() {
		s.object(obj, func(o *objects, data []byte) { o.after = data })
	}
}

func (s *Step) object(obj apiruntime.Object, put func(*objects, []byte)) {
	data := encodeMasked(obj)
	j := s.j
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.room(len(data)) {
		return
	}
	if s.objects == nil {
		s.objects = &objects{}
	}
	put(s.objects, data)
}
