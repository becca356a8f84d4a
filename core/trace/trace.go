package trace

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/steps"
)

// Level says how much of a journey is recorded.
type Level uint8

const (
	// Steps records the steps with their order, times and reasons.
	Steps Level = iota
	// Objects also records objects, before and after the steps that change them.
	Objects
)

// Attr is an input or a result of a step.
type Attr struct {
	Name  string
	Text  string // what it was, unless it was a number
	Int   int64
	IsInt bool
}

// Step is one call in one layer. A nil Step does nothing.
type Step struct {
	*branch
	caller *Step // nil for none
	acts   *acts // nil unless there were rules when the step began
	index  int32
	id     steps.ID
}

// branch is the stack of nested steps of one goroutine.
type branch struct {
	j       *Journey
	current *Step // nil for none
	shared  bool  // others wait for what is done now
}

type branchKey struct{}

// contextWith returns a context in which steps are recorded in j.
func contextWith(ctx context.Context, j *Journey) context.Context {
	j.root.j = j
	return context.WithValue(ctx, branchKey{}, &j.root)
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
	if b.j.alone { // there may be others who read it, but not before it is false
		b.j.alone = false
	}
	return context.WithValue(ctx, branchKey{}, &branch{j: b.j, current: b.current})
}

// WithoutRecording returns a context whose steps are not recorded, for work that repeats recorded work.
func WithoutRecording(ctx context.Context) context.Context {
	if FromContext(ctx) == nil {
		return ctx
	}
	return context.WithValue(ctx, branchKey{}, nil)
}

// sites holds the program counter of each step, stored when it first happens.
var sites [steps.Count]atomic.Uintptr

// Start begins a step of the request of ctx. subject is the step's object: a key, a resource, a path. The caller goes
// on with the returned context. Start may block, because a request can be held at a step.
func Start(ctx context.Context, id steps.ID, subject string) (context.Context, *Step) {
	b, ok := ctx.Value(branchKey{}).(*branch)
	if !ok {
		return ctx, nil
	}
	if sites[id].Load() == 0 {
		sites[id].Store(caller())
	}
	step := b.begin(id, subject)
	if step != nil && b.j.rec.control.rules.Load() != nil {
		step.acts = &acts{ctx: ctx, subject: clip(subject)}
		b.j.rec.control.beginStep(step)
	}
	return ctx, step
}

// StartObject is Start for a step that works on obj. It records obj as it is before. obj must belong to the request
// alone, since a user may edit it while the request is held.
func StartObject(ctx context.Context, id steps.ID, subject string, obj apiruntime.Object) (context.Context, *Step) {
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
		step.acts = &acts{ctx: ctx, subject: clip(subject), object: obj}
		b.j.rec.control.beginStep(step)
	}
	return ctx, step
}

// caller is the program counter of the caller's caller.
func caller() uintptr {
	var pc [1]uintptr
	runtime.Callers(3, pc[:])
	return pc[0]
}

// Err returns an injected error. A step whose Info has Fails must call it, and return the error at once. The step
// ends with this error, whatever End gets.
func (s *Step) Err() error {
	if s == nil || s.acts == nil {
		return nil
	}
	return s.acts.fail
}

// SharedWork is work for which other requests wait too.
type SharedWork struct{ b *branch }

// BeginShared begins work for which other requests wait too. Until End its steps are recorded, but neither held nor
// disturbed.
func BeginShared(ctx context.Context) SharedWork {
	b, ok := ctx.Value(branchKey{}).(*branch)
	if !ok || b.shared {
		return SharedWork{}
	}
	b.shared = true
	return SharedWork{b}
}

// End ends the shared work.
func (s SharedWork) End() {
	if s.b != nil {
		s.b.shared = false
	}
}

// Steps are allocated in blocks. The first block is enough for most journeys.
const (
	firstSteps = 32
	moreSteps  = 12
)

// begin adds a step and makes it the current one, or counts it as cut and returns nil if the journey is full.
func (b *branch) begin(id steps.ID, subject string) *Step {
	j := b.j
	subject = clip(subject)
	j.lock()
	if !j.room(stepBytes + len(subject)) {
		j.unlock()
		return nil
	}
	if len(j.free) == 0 {
		j.free = make([]Step, moreSteps)
	}
	step := &j.free[0]
	j.free = j.free[1:]
	step.branch, step.caller, step.id, step.index = b, b.current, id, int32(j.log.steps)
	parent := int32(-1)
	if b.current != nil {
		parent = b.current.index
	}
	j.log.steps++
	e := j.log.add()
	e.kind, e.id, e.step, e.text = entryBegan, id, parent, subject
	e.n = int64(time.Since(j.started))
	j.log.tell()
	j.unlock()
	b.current = step
	if id == steps.StoreTryUpdate {
		j.tries.Add(1)
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
		j.rec.control.endStep(s, err)
	}
	text := ""
	if err != nil && *err != nil {
		text = clip(s.errorText(*err))
	}
	j.lock()
	if !j.gone {
		if text != "" && !j.room(len(text)) {
			text = cutText
		}
		e := j.log.add()
		e.kind, e.step, e.text = entryEnded, s.index, text
		e.n = int64(time.Since(j.started))
		j.log.tell()
	}
	j.unlock()
	s.branch.current = s.caller
}

// errorText is the recorded form of the step's error. Errors of etcd's client quote neither keys nor values.
func (s *Step) errorText(err error) string {
	if s.Confidential() && s.id.Info().Layer != steps.LayerEtcd {
		return mask.Error(err)
	}
	return err.Error()
}

// Confidential says that the step must not record contents of the request's body or objects.
func (s *Step) Confidential() bool { return s != nil && s.j.confidential.Load() }

// Recording says whether the step is recorded.
func (s *Step) Recording() bool { return s != nil }

// Objects says whether objects are recorded.
func (s *Step) Objects() bool { return s != nil && Level(s.j.level.Load()) >= Objects }

// Int records a number as an attribute.
func (s *Step) Int(name string, v int64) {
	if s != nil {
		s.tell(numberBytes, entryNumber, name, v)
	}
}

// Text records a text as an attribute.
func (s *Step) Text(name, v string) {
	if s == nil {
		return
	}
	v = clip(v)
	j := s.j
	j.lock()
	if j.room(textBytes + len(v)) {
		e := j.log.add()
		e.kind, e.step, e.text = entryName, s.index, name
		e = j.log.add()
		e.kind, e.step, e.text = entryText, s.index, v
		j.log.tell()
	}
	j.unlock()
}

// tell adds an entry and counts bytes for it.
func (s *Step) tell(bytes int, kind entryKind, text string, n int64) {
	j := s.j
	j.lock()
	if j.room(bytes) {
		e := j.log.add()
		e.kind, e.step, e.text, e.n = kind, s.index, text, n
		j.log.tell()
	}
	j.unlock()
}

// Before records obj before the step changes it, if objects are recorded.
func (s *Step) Before(obj apiruntime.Object) {
	if s.Objects() {
		s.saw(objectState{step: s.index, data: mask.Object(obj, s.Confidential())})
	}
}

// After records obj after the step changed it, if objects are recorded.
func (s *Step) After(obj apiruntime.Object) {
	if s.Objects() {
		s.saw(objectState{step: s.index, after: true, data: mask.Object(obj, s.Confidential())})
	}
}

// AfterResponse has f called when the response is there, if objects are recorded: by a goroutine, one after the other,
// before the journey counts as ended. It is for what costs more than a request should wait for. f may record texts of
// the step and must be bounded; it must not panic.
func (s *Step) AfterResponse(f func()) {
	if s.Objects() {
		s.j.mu.Lock() // also of a journey that is alone
		s.j.later = append(s.j.later, f)
		s.j.mu.Unlock()
	}
}

// objectState is a recorded object, before or after a step's work.
type objectState struct {
	step  int32
	after bool
	data  []byte
}

func (s *Step) saw(o objectState) {
	j := s.j
	j.mu.Lock() // also of a journey that is alone
	defer j.mu.Unlock()
	if !j.room(len(o.data)) {
		return
	}
	// An object that is recorded again was edited.
	i := slices.IndexFunc(j.objects, func(known objectState) bool { return known.step == o.step && known.after == o.after })
	if i < 0 {
		j.objects = append(j.objects, o)
	} else {
		j.objects[i] = o
	}
}
