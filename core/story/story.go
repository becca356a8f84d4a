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
	// Failed says that the step, or the request, ended with an error.
	Failed bool
	Text   string
}

// Tell tells a journey in a language. others are the journeys that [refusal.RelatedRequests] picks, if the request was
// refused.
func Tell(j *v1alpha1.Journey, in lang.Language, others ...*v1alpha1.Journey) []Line {
	t := &teller{j: j, language: in, grammar: grammars[in]}
	t.add(-1, 0, false, t.asked())
	if c := j.Status.Cause; c != nil {
		t.add(-1, 0, false, t.grammar.cause(c.Journey, c.Revision))
	}
	for i := 0; i < len(j.Status.Steps); i++ {
		if n := t.passed(i); n > 1 {
			t.add(i, 0, false, t.grammar.passed(n, t.allowed(i, n)))
			i += n - 1
			continue
		}
		if n := t.details(i); n > 1 {
			t.told(i, n)
			i += n - 1
			continue
		}
		t.step(i)
	}
	t.answered()
	t.refused(others)
	t.after()
	return t.lines
}

// grammar joins words to sentences in a language. An unknown word is empty.
type grammar interface {
	// asked tells who sent the request, with which program.
	asked(user, request, agent string) string
	// install tells which server installs what, and installed that it has done so.
	install(path, server string) string
	installed(took string) string
	// passed says that filters let the request pass, by which rule.
	passed(filters int, rule string) string
	step(texts) string
	// details joins what several steps do.
	details(clauses []string, took string) string
	held(by, at string) string
	running() string
	watchEnded(code, failure int32, took string) string
	// answered has a revision of 0 if nothing was written.
	answered(code int32, bytes, revision int64, took string) string
	// fact is one of why a request was refused, and advice what can be done.
	fact(name, text string) string
	advice(text string) string
	// caused says what came of a revision that was written, and sent which watch was sent it.
	caused(what string, revision int64, after string) string
	sent(watch, user, change string, revision int64, after string) string
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
	failed        bool
	failure, took string
}

// teller tells one journey.
type teller struct {
	j        *v1alpha1.Journey
	language lang.Language
	grammar  grammar
	lines    []Line
}

func (t *teller) add(step, depth int, failed bool, text string) {
	t.lines = append(t.lines, Line{Step: step, Depth: depth, Failed: failed, Text: escape.Line(text)})
}

// asked tells who sent the request.
func (t *teller) asked() string {
	q := &t.j.Spec
	if t.j.IsInstall() {
		return t.grammar.install(q.URI, q.UserAgent)
	}
	agent, _, _ := strings.Cut(q.UserAgent, " ")
	return t.grammar.asked(q.User, q.Method+" "+q.URI, agent)
}

var filterLayer = steps.LayerFilter.String()

// passed counts the filters in a row, from the i-th step on, that passed the request on.
func (t *teller) passed(i int) (n int) {
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

// details counts the fine steps in a row, from the i-th on, that have one caller, succeeded and called no other step.
func (t *teller) details(i int) (n int) {
	taken := t.j.Status.Steps
	for ; i+n < len(taken); n++ {
		s := &taken[i+n]
		calls := i+n+1 < len(taken) && int(taken[i+n+1].Parent) == i+n
		if !steps.InfoOf(s.ID).Fine || s.Error != "" || calls || s.Parent != taken[i].Parent {
			break
		}
	}
	return n
}

// told tells n details in one sentence.
func (t *teller) told(i, n int) {
	var clauses []string
	took := time.Duration(0)
	for k := range n {
		s := &t.j.Status.Steps[i+k]
		clauses = append(clauses, t.clause(s))
		took += max(time.Duration(s.TookNanos), 0)
	}
	t.add(i, t.depth(i), false, t.grammar.details(clauses, duration(took)))
}

// clause says what a step does, without its subject if the sentence has it after a colon.
func (t *teller) clause(s *v1alpha1.Step) string {
	id, _ := steps.Lookup(s.ID)
	text := t.language.Text(sentences[id])
	for _, colon := range []string{": {", "：{"} {
		if clause, _, found := strings.Cut(text, colon); found {
			return clause
		}
	}
	return t.sentence(s)
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

// step tells of one step.
func (t *teller) step(i int) {
	s := &t.j.Status.Steps[i]
	about := texts{does: t.sentence(s), why: t.language.Why(t.j, s), failed: s.Error != ""}
	if !t.failsBelow(i) {
		about.failure = s.Error
	}
	if s.TookNanos >= 0 {
		about.took = duration(time.Duration(s.TookNanos))
	}
	t.add(i, t.depth(i), about.failed, t.grammar.step(about))
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
	return t.filled(id, s.Subject)
}

// filled puts a step's subject into its sentence. Without a subject it uses the words in the sentence's braces.
func (t *teller) filled(id steps.ID, about string) string {
	return lang.Fill(t.language.Text(sentences[id]), func(otherwise string) string { return cmp.Or(about, otherwise) })
}

// answered says what came of the request.
func (t *teller) answered() {
	status := &t.j.Status
	took := micros(status.TookMicros)
	switch {
	case t.j.IsInstall():
		t.add(-1, 0, false, t.grammar.installed(took))
	case len(status.Held) > 0:
		t.add(-1, 0, false, t.grammar.held(status.Held[0].By, status.Held[0].ID))
	case status.Phase != v1alpha1.JourneyComplete:
		t.add(-1, 0, false, t.grammar.running())
	case status.WatchError != 0:
		t.add(-1, 0, true, t.grammar.watchEnded(status.Code, status.WatchError, took))
	default:
		t.add(-1, 0, status.Code >= 400, t.grammar.answered(status.Code, status.Bytes, status.Revision, took))
	}
}

// refused tells why the request was refused, and what can be done.
func (t *teller) refused(others []*v1alpha1.Journey) {
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
			text = t.filled(id, "")
		}
		t.add(-1, 0, false, t.grammar.caused(text, m.Revision, micros(m.AfterMicros)))
	}
	for i := range t.j.Status.Deliveries {
		d := &t.j.Status.Deliveries[i]
		t.add(-1, 0, false, t.grammar.sent(d.Watcher, d.User, d.Type, d.Revision, micros(d.AfterMicros)))
	}
	for i := range t.j.Status.Effects {
		e := &t.j.Status.Effects[i]
		t.add(-1, 0, false, t.grammar.effect(e.UserAgent, e.Verb, e.What(), e.Journey, e.Revision, micros(e.AfterMicros)))
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
func Sentence(id steps.ID, in lang.Language) string { return (&teller{language: in}).filled(id, "") }
