package story

import (
	"fmt"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
)

// Line is one sentence of a story.
type Line struct {
	// Step is the index of the step that it tells of; -1 if it is about the request as a whole.
	Step int
	// Depth is how many steps behind the filters called the one that called it.
	Depth int
	// Failed says that the step, or the request, ended with an error.
	Failed bool
	Text   string
}

// Of tells a journey.
func Of(j *v1alpha1.Journey) []Line {
	t := &teller{j: j}
	t.add(-1, 0, false, t.asked())
	for i := 0; i < len(j.Status.Steps); i++ {
		if n := t.passed(i); n > 1 {
			t.add(i, 0, false, fmt.Sprintf("%d filters let it pass%s.", n, t.allowed(i, n)))
			i += n - 1
			continue
		}
		t.step(i)
	}
	t.answered()
	t.after()
	return t.lines
}

// teller tells one journey.
type teller struct {
	j     *v1alpha1.Journey
	lines []Line
}

func (t *teller) add(step, depth int, failed bool, text string) {
	t.lines = append(t.lines, Line{Step: step, Depth: depth, Failed: failed, Text: escape.Line(text)})
}

// asked says who asks for what.
func (t *teller) asked() string {
	q := &t.j.Spec
	who := "Somebody"
	if q.User != "" {
		who = q.User
	}
	text := fmt.Sprintf("%s asks for %s %s", who, q.Method, q.URI)
	if agent, _, _ := strings.Cut(q.UserAgent, " "); agent != "" {
		text += ", with " + agent
	}
	return text + "."
}

var filterLayer = trace.LayerFilter.String()

// passed is how many filters in a row, from the i-th step on, let the request pass.
func (t *teller) passed(i int) (n int) {
	steps := t.j.Status.Steps
	for ; i+n < len(steps); n++ {
		s := &steps[i+n]
		last := i+n == len(steps)-1
		if s.Layer != filterLayer || s.Error != "" || last {
			break
		}
	}
	return n
}

// allowed says by which rule the user may do this, if these filters found out.
func (t *teller) allowed(from, n int) (text string) {
	for _, s := range t.j.Status.Steps[from : from+n] {
		if s.ID == trace.FilterAuthorization.String() && s.Why != "" {
			text = ": " + s.Why
		}
	}
	return text
}

// step tells of one step.
func (t *teller) step(i int) {
	s := &t.j.Status.Steps[i]
	text := sentence(s)
	if s.Why != "" {
		text += " — " + s.Why
	}
	switch {
	case s.Error != "" && t.failsBelow(i):
		text += "; it fails"
	case s.Error != "":
		text += "; it fails: " + s.Error
	}
	text = strings.TrimRight(text, ".") + "."
	if s.TookNanos >= 0 {
		text += " (" + duration(time.Duration(s.TookNanos)) + ")"
	}
	t.add(i, t.depth(i), s.Error != "", text)
}

// failsBelow says whether a step that the i-th called failed in the same words: these are told once, where it began.
func (t *teller) failsBelow(i int) bool {
	steps := t.j.Status.Steps
	for k := i + 1; k < len(steps); k++ {
		if int(steps[k].Parent) == i && steps[k].Error == steps[i].Error {
			return true
		}
	}
	return false
}

// depth is how many steps lead from the filters to the i-th.
func (t *teller) depth(i int) (n int) {
	steps := t.j.Status.Steps
	for at := int(steps[i].Parent); at >= 0 && at < i; at = int(steps[at].Parent) {
		if steps[at].Layer != filterLayer {
			n++
		}
		i = at
	}
	return n
}

// sentence is what a step does, and to what.
func sentence(s *v1alpha1.Step) string {
	id, ok := trace.Lookup(s.ID)
	if !ok { // a capture of a later kx
		return strings.TrimSpace(s.Title + " " + s.Subject)
	}
	return filled(sentences[id], s.Subject)
}

// filled puts what a step is about into its sentence. Where that is not known, the sentence has words of its own in its place.
func filled(text, about string) string {
	before, rest, found := strings.Cut(text, "{")
	if !found {
		return text
	}
	otherwise, after, _ := strings.Cut(rest, "}")
	if about == "" {
		about = otherwise
	}
	return before + about + after
}

// answered says what came of the request.
func (t *teller) answered() {
	status := &t.j.Status
	took := duration(time.Duration(status.TookMicros) * time.Microsecond)
	switch {
	case len(status.Held) > 0:
		t.add(-1, 0, false, fmt.Sprintf("It is held there: %s at %s.", status.Held[0].By, status.Held[0].ID))
	case status.Phase != v1alpha1.JourneyComplete:
		t.add(-1, 0, false, "It still runs.")
	case status.WatchError != 0:
		t.add(-1, 0, true, fmt.Sprintf("The answer was %d, and the watch ended with %d after %s.", status.Code, status.WatchError, took))
	default:
		text := fmt.Sprintf("The answer is %d, of %d bytes, after %s", status.Code, status.Bytes, took)
		if status.Revision > 0 {
			text += fmt.Sprintf("; what it wrote is etcd's revision %d", status.Revision)
		}
		t.add(-1, 0, status.Code >= 400, text+".")
	}
}

// after tells what its writes caused.
func (t *teller) after() {
	for i := range t.j.Status.Marks {
		m := &t.j.Status.Marks[i]
		text := m.Title
		if id, ok := trace.Lookup(m.ID); ok {
			text = filled(sentences[id], "")
		}
		t.add(-1, 0, false, fmt.Sprintf("%s. (revision %d, %s after the request began)", strings.TrimRight(text, "."), m.Revision, micros(m.AfterMicros)))
	}
	for i := range t.j.Status.Deliveries {
		d := &t.j.Status.Deliveries[i]
		who := d.Watcher
		if d.User != "" {
			who += " of " + d.User
		}
		t.add(-1, 0, false, fmt.Sprintf("The watch %s is sent %s of revision %d. (%s after the request began)", who, d.Type, d.Revision, micros(d.AfterMicros)))
	}
}

func micros(n int64) string { return duration(time.Duration(n) * time.Microsecond) }

// duration is a duration with three digits.
func duration(d time.Duration) string {
	unit := time.Nanosecond
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit).String()
}
