package trace

import (
	"time"

	"github.com/kx-apiserver/kx/core/steps"
)

// Notes record the steps of work without a request, such as the installation of a resource: a few facts for each
// step, written when it is taken. A [Way] makes steps of them on demand.
//
// One goroutine writes Notes, and publishes them to readers when the work is done. A nil *Notes takes none.
type Notes struct {
	within  StepNote
	all     []note
	current int32 // the note that began last and has not ended, and 1; 0 for none
}

// note is one step. The memory of all notes is its size times the number of resources.
type note struct {
	subject, text string
	began, took   time.Duration // began counts from epoch
	numbers       [2]int64
	reason        Reason
	id            steps.ID
	parent        int16 // index of the note of the caller; -1 for none of these
	failed        bool  // text is the error
}

// StepNote is one of Notes. The zero StepNote does nothing.
type StepNote struct {
	notes *Notes
	at    int32
}

// epoch is the zero of the times in notes: a duration takes a third of the memory of a time.
var epoch = time.Now()

// NewNotes returns Notes for about n steps, below a step of others.
func NewNotes(within StepNote, n int) *Notes { return &Notes{within: within, all: make([]note, 0, n)} }

// SetCaller says which step of other Notes called the first of these.
func (n *Notes) SetCaller(within StepNote) {
	if n != nil {
		n.within = within
	}
}

// Note begins a step of notes, as [Start] does for a request. It is called below by the step that has not ended.
func Note(notes *Notes, id steps.ID, subject string) StepNote {
	if notes == nil {
		return StepNote{}
	}
	if sites[id].Load() == 0 {
		sites[id].Store(caller())
	}
	at := int32(len(notes.all))
	notes.all = append(notes.all, note{
		id: id, subject: subject, parent: int16(notes.current - 1), began: time.Since(epoch), took: -1,
	})
	notes.current = at + 1
	return StepNote{notes, at}
}

// Why says why the step went the way it did, with at most two numbers.
func (s StepNote) Why(r Reason, numbers ...int64) { s.WhyText(r, "", numbers...) }

// WhyText is Why for a reason with a text.
func (s StepNote) WhyText(r Reason, text string, numbers ...int64) {
	if s.notes == nil {
		return
	}
	n := &s.notes.all[s.at]
	n.reason, n.text = r, text
	for i := range min(len(numbers), len(n.numbers)) {
		n.numbers[i] = numbers[i]
	}
}

// End ends the step with *err (err may be nil).
func (s StepNote) End(err *error) {
	if s.notes == nil {
		return
	}
	n := &s.notes.all[s.at]
	n.took = time.Since(epoch) - n.began
	if err != nil && *err != nil {
		n.failed, n.text = true, (*err).Error()
	}
	s.notes.current = int32(n.parent) + 1
}

// record returns the note as a step, whose Start counts from epoch.
func (n *note) record(parent int) StepRecord {
	s := StepRecord{ID: n.id, Parent: parent, Start: n.began, Took: n.took, Subject: n.subject}
	if n.failed {
		s.Error = clip(n.text)
		return s
	}
	s.Reason, s.Values = n.reason, n.reason.values()
	number := 0
	for i := range s.Values {
		if v := &s.Values[i]; !v.IsInt {
			v.Text = clip(n.text)
		} else if number < len(n.numbers) {
			v.Int = n.numbers[number]
			number++
		}
	}
	s.Why = fill(n.reason.Sentence(), s.Values)
	return s
}

// Way makes the steps of one journey of Notes that several may have written.
type Way struct {
	// Steps may get attributes until Record.
	Steps []StepRecord
	at    map[StepNote]int
}

// Add adds all steps of notes below their callers, which may be there already. It returns the index of the first of
// them, -1 if there is none.
func (w *Way) Add(notes *Notes) (first int) {
	return w.AddBut(notes, func(steps.ID, string) bool { return false })
}

// AddBut is Add without the steps that skip, by their subject, skips.
func (w *Way) AddBut(notes *Notes, skip func(id steps.ID, subject string) bool) (first int) {
	first = -1
	if notes == nil {
		return first
	}
	for i := range notes.all {
		if n := &notes.all[i]; skip(n.id, n.subject) {
			continue
		}
		if at := w.step(StepNote{notes, int32(i)}); first < 0 {
			first = at
		}
	}
	return first
}

// step returns the index of the step of a note. It adds it, and its callers before, unless they are there.
func (w *Way) step(s StepNote) int {
	if s.notes == nil {
		return -1
	}
	if at, ok := w.at[s]; ok {
		return at
	}
	n := &s.notes.all[s.at]
	caller := s.notes.within
	if n.parent >= 0 {
		caller = StepNote{s.notes, int32(n.parent)}
	}
	parent := w.step(caller)
	if w.at == nil {
		w.at = map[StepNote]int{}
	}
	w.at[s] = len(w.Steps)
	w.Steps = append(w.Steps, n.record(parent))
	return w.at[s]
}

// Say replaces the text of a step's reason.
func (w *Way) Say(at int, text string) {
	s := &w.Steps[at]
	for i := range s.Values {
		if !s.Values[i].IsInt {
			s.Values[i].Text = text
		}
	}
	s.Why = fill(s.Reason.Sentence(), s.Values)
}

// Record returns the journey of the steps. A step that waits for others worked for other journeys too: it has its
// full length, but the journey lasts only as long as its own work, and leaves out the work in between.
func (w *Way) Record(id string, request Request) Record {
	r := Record{ID: id, Request: request, Steps: w.Steps, StepCount: len(w.Steps)}
	shift := make([]time.Duration, len(w.Steps))
	for i := range r.Steps {
		s := &r.Steps[i]
		switch parent := s.Parent; {
		case s.ID.Info().Waits:
			shift[i] = s.Start
		case parent < 0 || r.Steps[parent].ID.Info().Waits:
			if r.Started.IsZero() {
				r.Started = epoch.Add(s.Start)
			}
			shift[i] = s.Start - r.Took
			r.Took += max(s.Took, 0)
		default:
			shift[i] = shift[parent]
		}
		s.Start -= shift[i]
	}
	return r
}
