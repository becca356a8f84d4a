package trace

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/steps"
)

// Journey is one request's trip. Its methods may be called from any goroutine. Each of its parts says what guards it.
type Journey struct {
	id      string
	started time.Time
	rec     *Recorder

	// These need no lock.
	level        atomic.Uint32
	confidential atomic.Bool          // the request's bodies may hold secrets
	untouchable  atomic.Bool          // no rule applies
	heldFor      atomic.Int64         // ns of the holds that have ended
	cut          atomic.Int64         // steps, attributes and objects left out because the journey was full
	tries        atomic.Int32         // how often the storage asked for the next state
	span         atomic.Pointer[Span] // nil outside of any trace
	background   bool                 // see InBackground; set before the first step

	pausing   pausing // guards itself
	listing           // guarded by the recorder's mu
	recording         // written by one goroutine at a time

	mu      sync.Mutex // guards what follows
	request Request
	outcome
	consequence
	handling
	keeping
}

// listing is the journey's place in its recorder.
type listing struct {
	change  ChangeType // the last one
	changed uint64     // its number
	at      int        // where it is in the recorder's kept, -1 if it is not
}

// recording has what the steps recorded. While the journey is alone, only the request's own goroutine writes here,
// without a lock; only it changes alone. Later a writer holds mu. log says what readers hold.
type recording struct {
	alone    bool
	root     branch // the request's own
	log      log
	free     []Step // what is left of the last block
	bytes    int
	reserved int // of what all that run may take
}

// outcome has the response, and says how far the end of the request has come.
type outcome struct {
	response   Response
	took       time.Duration // 0 until the request has ended
	watchError int           // code of the error that ended its response after that had begun; 0 if none did
	ending     bool          // the response is there, and what was left for later is done
	later      []func()      // what Step.AfterResponse leaves
	finished   bool
	done       chan struct{} // made for the first waiter; closed at the end
}

// consequence has the objects of the steps, what the request wrote, and what followed from that.
type consequence struct {
	wrote      int32 // index of the step that wrote last, and 1; 0 if none did
	revision   int64 // what it wrote last; 0 if it wrote nothing
	objects    []objectState
	marks      []MarkRecord
	deliveries []Delivery
	cause      Cause
	effects    []*Journey
}

// handling is what users do to the request while it runs.
type handling struct {
	interventions []Intervention
	touched       InterventionSet // their kinds
	holds         []*hold         // what holds it now, the oldest first
	stopped       chan struct{}   // made when somebody waits; closed when it is held or ends
	stepping      *stepping
	met           []*Rule // the rules that are met once a request, and have been
	end           func()  // ends a watch without a word to its client
}

// keeping says how long what was recorded stays in memory.
type keeping struct {
	gone      bool // nothing is recorded any more
	keepers   int  // how many still read what was recorded; it is freed when the last one has
	forgotten bool // by the recorder, but not by keepers
}

// lock makes the caller the writer of the log until unlock.
func (j *Journey) lock() {
	if !j.alone {
		j.mu.Lock()
	}
}

func (j *Journey) unlock() {
	if !j.alone {
		j.mu.Unlock()
	}
}

// ID is unique among all processes.
func (j *Journey) ID() string { return j.id }

// SetLevel sets the level from now on.
func (j *Journey) SetLevel(l Level) { j.level.Store(uint32(l)) }

// UpdateRequest changes the description of the request.
func (j *Journey) UpdateRequest(f func(*Request)) {
	j.mu.Lock()
	q := &j.request
	f(q)
	q.clip()
	j.confidential.Store(mask.Confidential(mask.Request{Group: q.Group, Resource: q.Resource, Subresource: q.Subresource}))
	j.mu.Unlock()
}

// Discard removes the journey from the recorder. Its steps still cost as much as recorded ones.
func (j *Journey) Discard() {
	j.LeaveAlone()
	j.rec.discard(j)
}

// LeaveAlone exempts the journey from rules from now on.
func (j *Journey) LeaveAlone() { j.untouchable.Store(true) }

// InBackground marks the journey as the server's own work: rules leave it alone, and it takes no room from journeys
// of requests. The caller must call it before the first step.
func (j *Journey) InBackground() {
	j.LeaveAlone()
	j.background = true
}

// AnswerFailed records the code of an error that ended the response of ctx after it had begun with another code: that
// of a watch's ERROR event, or of the error that cut a list off.
func AnswerFailed(ctx context.Context, code int) {
	if j := FromContext(ctx); j != nil {
		j.mu.Lock()
		j.watchError = code
		j.mu.Unlock()
	}
}

// Finish ends the journey. Only the request's own goroutine may call it. The work of Step.AfterResponse runs first,
// without the caller.
func (j *Journey) Finish(response Response) {
	took := max(time.Since(j.started), 1)
	j.mu.Lock()
	if j.finished || j.ending {
		j.mu.Unlock()
		return
	}
	j.response, j.took = response, took
	j.ending = true
	if j.alone { // as in Fork
		j.alone = false
	}
	later := j.later
	j.later = nil
	j.mu.Unlock()
	if len(later) == 0 {
		j.finish()
		return
	}
	go func() {
		for _, do := range later {
			do()
		}
		j.finish()
	}()
}

func (j *Journey) finish() {
	j.mu.Lock()
	j.finished = true
	j.end, j.free, j.stepping = nil, nil, nil // they hold on to the request and to its steps
	j.rec.running.Add(-int64(j.reserved))
	if j.done != nil {
		close(j.done)
	}
	j.tellStopped()
	j.mu.Unlock()
	j.pausing.drop()
	j.rec.settle(j)
}

// Wait waits until the journey ends or ctx does. It says whether the journey has ended.
func (j *Journey) Wait(ctx context.Context) bool {
	j.mu.Lock()
	if j.finished {
		j.mu.Unlock()
		return true
	}
	if j.done == nil {
		j.done = make(chan struct{})
	}
	done := j.done
	j.mu.Unlock()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// drop frees the memory of a forgotten journey. Kept changes and writes still point to the journey, and would
// otherwise keep more in memory than is counted.
func (j *Journey) drop() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.keepers > 0 {
		j.forgotten = true
		return
	}
	j.empty()
}

// Keep keeps the records of an ended journey until Release, even if the recorder forgets the journey. It returns
// their bytes, or false if they are gone already.
func (j *Journey) Keep() (bytes int, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.gone {
		return 0, false
	}
	j.keepers++
	return j.bytes, true
}

// Release ends what Keep began.
func (j *Journey) Release() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.keepers--; j.keepers == 0 && j.forgotten {
		j.empty()
	}
}

// empty frees the records of the journey. The caller holds mu.
func (j *Journey) empty() {
	j.gone = true
	j.log.forget()
	j.objects, j.deliveries, j.marks, j.interventions, j.effects = nil, nil, nil, nil, nil
}

// Record is a copy of a journey.
type Record struct {
	ID         string
	Started    time.Time
	Took       time.Duration // 0 until the request has ended
	Running    bool
	Level      Level
	Request    Request
	Response   Response
	Steps      []StepRecord
	Marks      []MarkRecord
	Deliveries []Delivery
	Cut        int

	// Held are the steps at which the request is held now. HeldFor is the time of all holds so far.
	Held    []HeldStep
	HeldFor time.Duration
	// Touched has the kinds of the Interventions.
	Touched       InterventionSet
	Interventions []Intervention

	// StepCount is the number of steps, also where Steps is left out.
	StepCount int
	// Tries counts the attempts of an update, each on another state of the object. It is 0 for other requests.
	Tries int
	// Revision is the revision of the journey's last write, or 0.
	Revision int64
	// Cause is the reason for work of the server that no client requested.
	Cause Cause
	// WatchError is the code of the ERROR event that ended its watch, or of the error that cut its list off, or 0.
	WatchError int
	// Span is its place in a distributed trace, or nil.
	Span *Span
}

// StepRecord is a copy of a step.
type StepRecord struct {
	ID     steps.ID
	Parent int // index of the step that called this one; -1 for none
	Start  time.Duration
	Took   time.Duration // -1 while it runs

	Subject, Error string
	Attrs          []Attr
	// Why is the sentence of Reason with its Values.
	Why    string
	Reason Reason
	Values []Attr

	Before, After []byte
}

// Summary is a copy of the journey without its steps.
func (j *Journey) Summary() Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.summary()
}

func (j *Journey) summary() Record {
	return Record{
		ID: j.id, Started: j.started, Took: j.took, Running: !j.finished,
		Level: Level(j.level.Load()), Request: j.request, Response: j.response, Cut: int(j.cut.Load()),
		Held: j.heldSteps(), HeldFor: time.Duration(j.heldFor.Load()), Touched: j.touched,
		StepCount: j.log.stepCount(), Tries: int(j.tries.Load()), Revision: j.revision,
		WatchError: j.watchError, Cause: j.cause, Span: j.span.Load(),
	}
}

// Record is a copy of the journey. A forgotten journey has no steps.
func (j *Journey) Record() Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.summary()
	r.Marks = append([]MarkRecord(nil), j.marks...)
	r.Deliveries = append([]Delivery(nil), j.deliveries...)
	r.Interventions = append([]Intervention(nil), j.interventions...)
	r.Steps = j.log.records()
	for _, o := range j.objects {
		if o.after {
			r.Steps[o.step].After = o.data
		} else {
			r.Steps[o.step].Before = o.data
		}
	}
	return r
}

// Site is a place in the code. Functions and files are named from the module's root, so they do not depend on where the
// binary was built.
type Site struct {
	Function, File string
	Line           int
}

// SiteOfStep is where the code takes a step, as compiled into this binary. It is empty until the step happens for the
// first time.
func SiteOfStep(id steps.ID) Site {
	pc := sites[id].Load()
	if pc == 0 {
		return Site{}
	}
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return Site{
		Function: strings.TrimPrefix(frame.Function, Module),
		File:     strings.TrimPrefix(frame.File, sourceRoot()),
		Line:     frame.Line,
	}
}

// Module is the prefix of functions' names, and of packages' paths.
const Module = "github.com/kx-apiserver/kx/"

// sourceRoot is the prefix of files' names in this binary: the checkout that it was built in or, with -trimpath, the
// module's path.
var sourceRoot = sync.OnceValue(func() string {
	_, file, _, _ := runtime.Caller(0)
	return strings.TrimSuffix(file, "core/trace/journey.go")
})
