package story

import (
	"cmp"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/refusal"
	"github.com/kx-apiserver/kx/core/steps"
)

// Line is one sentence of a story.
type Line struct {
	// Step is the index of the step that it tells of; -1 if it is about the request as a whole.
	Step int
	// Depth counts the callers between the filters and the step.
	Depth int
	// Part is the index of its part in [Story.Parts].
	Part int
	// Failed says that the step, or the request, ended with an error.
	Failed bool
	Text   string
}

// grammar joins words to sentences in a language. An unknown word is empty.
type grammar interface {
	// request tells who sent the request, with which program.
	request(user, request, agent string) string
	// install tells which server installs what, and installed that it has done so.
	install(path, server string) string
	installEnd(took string) string
	// filters says that filters let the request pass, by which rule.
	filters(filters int, rule, took string) string
	step(texts) string
	hold(by, at string) string
	running() string
	watchEnd(code, failure int32, took string) string
	// answer has a revision of 0 if nothing was written.
	answer(code int32, bytes, revision int64, took string) string
	// fact is one of why a request was refused, and advice what can be done.
	fact(name, text string) string
	advice(text string) string
	// outcome says what came of a revision that was written, and sent which watch was sent it.
	outcome(what string, revision int64, after string) string
	delivery(watch, user, change string, revision int64, after string) string
	// cause tells which write the server saw, by a journey that may be unknown, and effect the work that followed. A
	// revision of 0 stands for no write.
	cause(journey string, revision int64) string
	effect(who, verb, what, journey string, revision int64, after string) string
}

// grammars are indexed by Language.
var grammars = [...]grammar{lang.English: english{}, lang.Chinese: chinese{}}

// texts holds the texts of a step. failure is empty if a later line tells it.
type texts struct {
	does, why     string
	times         int // that it was done, with one result
	failed        bool
	failure, took string
	// folded is the number of steps in the part at whose head the step is, or 0; box and alone are where these steps
	// are and their own time.
	folded     int
	box, alone string
}

// teller tells one journey.
type teller struct {
	j        *v1alpha1.Journey
	language lang.Language
	grammar  grammar
	lines    []Line
	// times says of each step how often it was taken alike. It is 0 for the repetitions, which are not told.
	times []int
	// own is the time of each step without the steps that it called.
	own []time.Duration
}

func newTeller(j *v1alpha1.Journey, in lang.Language) *teller {
	t := &teller{j: j, language: in, grammar: grammars[in], times: repetitions(j), own: make([]time.Duration, len(j.Status.Steps))}
	for i := range j.Status.Steps {
		s := &j.Status.Steps[i]
		took := max(time.Duration(s.TookNanos), 0)
		t.own[i] += took
		if parent := int(s.Parent); parent >= 0 && parent < i {
			t.own[parent] -= took
		}
	}
	return t
}

// ownTime returns the time of the steps from one to another without the steps that they called.
func (t *teller) ownTime(from, to int) string {
	sum := time.Duration(0)
	for _, own := range t.own[from:to] {
		sum += max(own, 0)
	}
	return duration(sum)
}

func (t *teller) add(step, depth int, failed bool, text string) {
	t.lines = append(t.lines, Line{Step: step, Depth: depth, Failed: failed, Text: escape.Line(text)})
}

// tellRequest tells who sent the request.
func (t *teller) tellRequest() string {
	q := &t.j.Spec
	if t.j.IsInstall() {
		return t.grammar.install(q.URI, q.UserAgent)
	}
	agent, _, _ := strings.Cut(q.UserAgent, " ")
	return t.grammar.request(q.User, q.Method+" "+q.URI, agent)
}

var filterLayer = steps.LayerFilter.String()

// countPassed counts the filters in a row, from the i-th step on, that passed the request on.
func (t *teller) countPassed(i int) (n int) {
	taken := t.j.Status.Steps
	for ; i+n < len(taken); n++ {
		s := &taken[i+n]
		last := i+n == len(taken)-1
		if s.Layer != filterLayer || s.Error != "" || last {
			break
		}
	}
	return n
}

// allowed says by which rule the user may do this, if these filters found out.
func (t *teller) allowed(from, n int) (text string) {
	for i := range t.j.Status.Steps[from : from+n] {
		if s := &t.j.Status.Steps[from+i]; s.ID == steps.FilterAuthorization.String() {
			text = t.language.Why(t.j, s)
		}
	}
	return text
}

// filters tells of n filters that let the request pass.
func (t *teller) filters(from, n int) {
	t.add(from, 0, false, t.grammar.filters(n, t.allowed(from, n), t.ownTime(from, from+n)))
}

// step tells of one step.
func (t *teller) step(i int) {
	about := t.texts(i)
	t.add(i, t.depth(i), about.failed, t.grammar.step(about))
}

func (t *teller) texts(i int) texts {
	s := &t.j.Status.Steps[i]
	about := texts{does: t.sentence(s), why: t.language.Why(t.j, s), times: t.times[i], failed: s.Error != ""}
	if !t.failsBelow(i) {
		about.failure = s.Error
	}
	if s.TookNanos >= 0 {
		about.took = duration(time.Duration(s.TookNanos))
	}
	return about
}

// failsBelow reports whether a step that the i-th called failed with the same words: the story tells these once, at
// their origin.
func (t *teller) failsBelow(i int) bool {
	taken := t.j.Status.Steps
	if taken[i].Error == "" {
		return false
	}
	for k := i + 1; k < len(taken); k++ {
		if int(taken[k].Parent) == i && taken[k].Error == taken[i].Error {
			return true
		}
	}
	return false
}

// depth counts the steps from the filters to the i-th.
func (t *teller) depth(i int) (n int) {
	taken := t.j.Status.Steps
	for at := int(taken[i].Parent); at >= 0 && at < i; at = int(taken[at].Parent) {
		if taken[at].Layer != filterLayer {
			n++
		}
		i = at
	}
	return n
}

// sentence says what a step does, with its subject.
func (t *teller) sentence(s *v1alpha1.Step) string {
	id, ok := steps.Lookup(s.ID)
	if !ok { // a capture of a later kx
		return strings.TrimSpace(t.language.Text(s.Title) + " " + s.Subject)
	}
	return t.fillSubject(id, s.Subject)
}

// fillSubject puts a step's subject into its sentence. Without a subject it uses the words in the sentence's braces.
func (t *teller) fillSubject(id steps.ID, about string) string {
	return lang.Fill(t.language.Text(sentences[id]), func(otherwise string) string { return cmp.Or(about, otherwise) })
}

// tellAnswer says what came of the request.
func (t *teller) tellAnswer() {
	status := &t.j.Status
	took := micros(status.TookMicros)
	switch {
	case t.j.IsInstall():
		t.add(-1, 0, false, t.grammar.installEnd(took))
	case len(status.Held) > 0:
		t.add(-1, 0, false, t.grammar.hold(status.Held[0].By, status.Held[0].ID))
	case status.Phase != v1alpha1.JourneyComplete:
		t.add(-1, 0, false, t.grammar.running())
	case status.WatchError != 0:
		t.add(-1, 0, true, t.grammar.watchEnd(status.Code, status.WatchError, took))
	default:
		t.add(-1, 0, status.Code >= 400, t.grammar.answer(status.Code, status.Bytes, status.Revision, took))
	}
}

// tellRefusal tells why the request was refused, and what can be done.
func (t *teller) tellRefusal(others []*v1alpha1.Journey) {
	card := refusal.Explain(t.j, others, t.language)
	if card == nil {
		return
	}
	for _, f := range card.Facts {
		t.add(-1, 1, false, t.grammar.fact(f.Name, f.Text))
	}
	if card.Next != "" {
		t.add(-1, 1, false, t.grammar.advice(card.Next))
	}
}

// after tells what its writes caused.
func (t *teller) after() {
	for i := range t.j.Status.Marks {
		m := &t.j.Status.Marks[i]
		text := t.language.Text(m.Title)
		if id, ok := steps.Lookup(m.ID); ok {
			text = t.fillSubject(id, "")
		}
		t.add(-1, 0, false, t.grammar.outcome(text, m.Revision, micros(m.AfterMicros)))
	}
	for i := range t.j.Status.Deliveries {
		d := &t.j.Status.Deliveries[i]
		t.add(-1, 0, false, t.grammar.delivery(d.Watcher, d.User, d.Type, d.Revision, micros(d.AfterMicros)))
	}
	for i := range t.j.Status.Effects {
		e := &t.j.Status.Effects[i]
		t.add(-1, 0, false, t.grammar.effect(e.UserAgent, e.Verb, e.Path(), e.Journey, e.Revision, micros(e.AfterMicros)))
	}
}

func micros(n int64) string { return duration(time.Duration(n) * time.Microsecond) }

// duration is a duration with three digits.
func duration(d time.Duration) string {
	unit := time.Nanosecond
	for d/unit >= 1000 { // 1000*unit overflows for the longest durations
		unit *= 10
	}
	return d.Round(unit).String()
}

// Sentence says what a step does, without a subject.
func Sentence(id steps.ID, in lang.Language) string {
	return (&teller{language: in}).fillSubject(id, "")
}
