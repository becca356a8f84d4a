package story

import (
	"slices"
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/steps"
)

// Story is a journey in sentences, of which the reader folds and unfolds parts.
type Story struct {
	Parts []Part
	// unfolded holds the parts that the reader unfolded.
	unfolded map[int]bool
}

// Part is what one layer did in a row, or what the story says of the request as a whole.
type Part struct {
	// Whole has a line for each step. Short has one for the part, and one for each other step that is never folded.
	Whole, Short []Line
}

// Folds reports whether the part has steps that fold.
func (p Part) Folds() bool { return len(p.Short) < len(p.Whole) }

// Tell tells a journey in a language, with all parts folded. others are the journeys that [refusal.RelatedRequests]
// picks, if the request was refused.
func Tell(j *v1alpha1.Journey, in lang.Language, others ...*v1alpha1.Journey) *Story {
	f := &folder{walker: newWalker(j, in)}
	f.part(func() {
		f.add(-1, 0, false, f.tellRequest())
		if c := j.Status.Cause; c != nil {
			f.add(-1, 0, false, f.grammar.cause(c.Journey, c.Revision))
		}
	}, nil)
	for i := 0; i < len(j.Status.Steps); {
		if f.times[i] == 0 {
			i++
			continue
		}
		i = f.layer(i)
	}
	f.part(func() {
		f.tellAnswer()
		f.tellRefusal(others)
		f.after()
	}, nil)
	return &Story{Parts: f.parts, unfolded: map[int]bool{}}
}

// Lines returns the lines that are to be read: of a folded part the short ones.
func (s *Story) Lines() []Line {
	var all []Line
	for i, p := range s.Parts {
		if s.unfolded[i] {
			all = append(all, p.Whole...)
		} else {
			all = append(all, p.Short...)
		}
	}
	return all
}

// Unfolded reports whether a part is unfolded.
func (s *Story) Unfolded(part int) bool { return s.unfolded[part] }

// Unfold unfolds a part, or folds it. It reports whether that changed the lines.
func (s *Story) Unfold(part int, unfolded bool) bool {
	if part < 0 || part >= len(s.Parts) || !s.Parts[part].Folds() || s.unfolded[part] == unfolded {
		return false
	}
	s.unfolded[part] = unfolded
	return true
}

// UnfoldAll unfolds all parts, or folds them. It reports whether that changed the lines.
func (s *Story) UnfoldAll(unfolded bool) (changed bool) {
	for i := range s.Parts {
		changed = s.Unfold(i, unfolded) || changed
	}
	return changed
}

// Find unfolds the parts of which a folded line has a text. Case is ignored.
func (s *Story) Find(text string) {
	text = strings.ToLower(text)
	for i, p := range s.Parts {
		for _, l := range p.Whole {
			if strings.Contains(strings.ToLower(l.Text), text) && !slices.Contains(p.Short, l) {
				s.Unfold(i, true)
			}
		}
	}
}

// Reveal returns the index in Lines of the line of a step, and unfolds its part if the line is folded. A repetition has
// the line before it. Without a step it is the first line.
func (s *Story) Reveal(step int) int {
	at := Line{Step: -1}
	for _, p := range s.Parts {
		for _, l := range p.Whole {
			if l.Step >= 0 && l.Step <= step {
				at = l
			}
		}
	}
	if at.Step < 0 {
		return 0
	}
	ofStep := func(l Line) bool { return l.Step == at.Step }
	if !slices.ContainsFunc(s.Parts[at.Part].Short, ofStep) {
		s.Unfold(at.Part, true)
	}
	return slices.IndexFunc(s.Lines(), ofStep)
}

// folder makes the parts of one story.
type folder struct {
	*walker
	parts []Part
}

// part adds a part. whole adds its lines, and short those that it has folded; nil if nothing folds.
func (f *folder) part(whole, short func()) {
	tell := func(add func()) []Line {
		f.lines = nil
		add()
		for i := range f.lines {
			f.lines[i].Part = len(f.parts)
		}
		return f.lines
	}
	p := Part{Whole: tell(whole)}
	if p.Short = p.Whole; short != nil {
		p.Short = tell(short)
	}
	f.parts = append(f.parts, p)
}

// layer adds the part that begins with the i-th step, and returns the step after it.
func (f *folder) layer(i int) (end int) {
	if n := f.countPassed(i); n > 1 {
		f.part(func() { f.each(i, i+n) }, func() { f.filters(i, n) })
		return i + n
	}
	head, end := f.extent(i)
	folded := 0
	for k := i; k < end; k++ {
		if f.times[k] > 0 && k != head && !f.shown(k) {
			folded++
		}
	}
	short := func() {
		for k := i; k < end; k++ {
			if k == head {
				about := f.texts(k)
				about.folded, about.box, about.alone = folded+1, f.box(k).Name(f.language), f.ownTime(i, end)
				f.add(k, f.depth(k), about.failed, f.grammar.step(about))
			} else if f.times[k] > 0 && f.shown(k) {
				f.step(k)
			}
		}
	}
	if folded == 0 || f.j.IsInstall() { // each step of an installation answers how the path came to be served
		short = nil
	}
	f.part(func() { f.each(i, end) }, short)
	return end
}

// extent returns the end of the part that begins with the i-th step, and its head: the step for which it stands while
// it is folded, the first that is no detail. A part ends where another layer begins, or a caller of the head goes on.
func (f *folder) extent(i int) (head, end int) {
	head = i
	for end = i + 1; end < len(f.j.Status.Steps); end++ {
		switch {
		case f.times[end] == 0: // it is told before
		case f.box(end) != f.box(i), f.box(i) == Filters:
			return head, end
		case f.fine(end):
		case f.fine(head):
			head = end
		case f.depth(end) < f.depth(head):
			return head, end
		}
	}
	return head, end
}

// fine reports whether a step is a detail, which never is the head of its part if there is another step.
func (f *folder) fine(i int) bool { return steps.InfoOf(f.j.Status.Steps[i].ID).Fine && !f.shown(i) }

// shown reports whether a step is never folded.
func (f *folder) shown(i int) bool {
	return f.decides(i) || f.j.Status.Steps[i].Error != "" && !f.failsBelow(i)
}

// each tells the steps from one to another, each in a line.
func (f *folder) each(from, to int) {
	for i := from; i < to; i++ {
		if f.times[i] > 0 {
			f.step(i)
		}
	}
}
