package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/story"
)

// Fork is two walks beside each other: A and B, in step up to where they part.
type Fork struct {
	// Stops holds a stop of each walk for each position. Before they part, a walk waits at its last stop while the
	// other alone has one. Afterwards each goes on by itself, and waits at its end.
	Stops [][2]int
	// Part is the position at which they part. If they go the same way, it is where that was decided.
	Part int

	walks    [2]*story.Walk
	language lang.Language
	// why says where and why they part, or that they do not.
	why string
}

// Comparable returns an error with the reason why two requests can't be put beside each other.
func Comparable(a, b *v1alpha1.Journey) error {
	for _, j := range []*v1alpha1.Journey{a, b} {
		switch {
		case j.Spec.Verb == "watch":
			return fmt.Errorf("%s is a watch, which has no answer to come to: only other requests can be compared", j.Name)
		case j.Status.Phase != v1alpha1.JourneyComplete:
			return fmt.Errorf("%s has not ended (%s): it can be compared afterwards", j.Name, j.Status.Phase)
		}
	}
	if a.Name == b.Name {
		return fmt.Errorf("%s would be compared with itself: give the ID of another request", a.Name)
	}
	return nil
}

// ForkOf puts two walks beside each other. They part at the first step that both took with different outcomes, and that
// decided for one of them; without one, where a walk stops alone for the first time.
func ForkOf(a, b *story.Walk, in lang.Language) *Fork {
	f := &Fork{Stops: [][2]int{{}}, walks: [2]*story.Walk{a, b}, language: in}
	pairs := Steps(a.Journey, b.Journey)
	partner := make([]int, len(a.Journey.Status.Steps)) // of each step of A, in B
	for _, p := range pairs {
		if p.A >= 0 {
			partner[p.A] = p.B
		}
	}
	same := func(i, k int) bool {
		step := a.Stops[i].Step
		if step >= 0 {
			step = partner[step]
			return step >= 0 && step == b.Stops[k].Step
		}
		return b.Stops[k].Step < 0 && (i == 0) == (k == 0)
	}
	parting := f.decision(pairs)
	to := [2]int{len(a.Stops) - 1, len(b.Stops) - 1}
	if parting != nil {
		to = [2]int{lastStop(a, parting.A), lastStop(b, parting.B)}
	}
	alone := f.walkTo(to, same)
	if f.Part = len(f.Stops) - 1; parting != nil {
		f.why = f.explainDecision(parting)
	} else if alone < 0 {
		f.why = in.Phrase("They go the same way to the end.")
		for at, stops := range f.Stops {
			if a.Stops[stops[0]].Decided {
				f.Part = at
			}
		}
	} else {
		f.Stops, f.Part = f.Stops[:alone], alone-1
		f.why = f.explainWays()
	}
	for at := f.Stops[len(f.Stops)-1]; at[0] < len(a.Stops)-1 || at[1] < len(b.Stops)-1; {
		at = [2]int{min(at[0]+1, len(a.Stops)-1), min(at[1]+1, len(b.Stops)-1)}
		f.Stops = append(f.Stops, at)
	}
	return f
}

// decision returns the first steps that correspond, ended otherwise, and of which one decided. Callers may be others:
// an update and a dry run of it try the same. It returns nil without such steps.
func (f *Fork) decision(pairs []StepPair) *StepPair {
	for side, w := range f.walks {
		for _, s := range w.Stops {
			if !s.Decided {
				continue
			}
			for _, other := range f.walks[1-side].Stops {
				if other.Step >= 0 && f.step(side, s.Step).ID == f.step(1-side, other.Step).ID {
					p := StepPair{A: s.Step, B: other.Step}
					if side == 1 {
						p.A, p.B = p.B, p.A
					}
					pairs = append(pairs, p)
				}
			}
		}
	}
	for _, p := range pairs {
		if p.A >= 0 && p.B >= 0 && (f.decided(0, p.A) || f.decided(1, p.B)) && f.parts(p) {
			return &p
		}
	}
	return nil
}

// decided reports whether a step of a walk decided.
func (f *Fork) decided(side, step int) bool {
	return slices.ContainsFunc(f.walks[side].Stops, func(s story.Stop) bool { return s.Decided && s.Step == step })
}

// parts reports whether the same step went another way.
func (f *Fork) parts(p StepPair) bool {
	a, b := f.step(0, p.A), f.step(1, p.B)
	return a.ID == b.ID && (reasonKind(a) != reasonKind(b) || (a.Error == "") != (b.Error == ""))
}

func (f *Fork) step(side, i int) *v1alpha1.Step { return &f.walks[side].Journey.Status.Steps[i] }

// reasonKind tells reasons apart, whatever their values are.
func reasonKind(s *v1alpha1.Step) string {
	if s.Reason != nil {
		return s.Reason.Kind
	}
	return s.Why
}

// lastStop returns the last stop of a walk up to a step.
func lastStop(w *story.Walk, step int) (last int) {
	for i, s := range w.Stops {
		if s.Step >= 0 && s.Step <= step {
			last = i
		}
	}
	return last
}

// walkTo walks both up to a stop of each. It returns the first position to which a walk came alone; -1 without one.
func (f *Fork) walkTo(to [2]int, same func(i, k int) bool) (alone int) {
	alone = -1
	for at := f.Stops[0]; at != to; {
		next := -1 // the stop of B that is the same as the next one of A
		for k := at[1] + 1; at[0] < to[0] && k <= to[1] && next < 0; k++ {
			if same(at[0]+1, k) || [2]int{at[0] + 1, k} == to {
				next = k
			}
		}
		switch {
		case next == at[1]+1:
			at = [2]int{at[0] + 1, next}
		case next >= 0 || at[0] == to[0]: // B stops before
			at[1]++
		default:
			at[0]++
		}
		if next != at[1] && alone < 0 {
			alone = len(f.Stops)
		}
		f.Stops = append(f.Stops, at)
	}
	return alone
}

// explainDecision says where and why they part, by the steps that decided.
func (f *Fork) explainDecision(parting *StepPair) string {
	at := f.Stops[f.Part]
	box := f.walks[0].Stops[at[0]].Box
	if stop := f.walks[1].Stops[at[1]]; stop.Decided {
		box = stop.Box
	}
	steps := [2]*v1alpha1.Step{f.step(0, parting.A), f.step(1, parting.B)}
	reasons := Reasons(f.walks[0].Journey, f.walks[1].Journey, *parting, f.language)
	for i, s := range steps {
		if reasonKind(s) == reasonKind(steps[1-i]) {
			reasons[i] = cmp.Or(s.Error, reasons[i])
		}
		reasons[i] = strings.TrimSuffix(cmp.Or(reasons[i], s.Error, f.language.Phrase("no reason is given")), ".")
	}
	return escape.Line(f.language.Phrase("They part in the box %s. A: %s. B: %s.", box.Name(f.language), reasons[0], reasons[1]))
}

// explainWays says which boxes follow in each, where no step that both took decided.
func (f *Fork) explainWays() string {
	at := f.Stops[f.Part]
	var next [2]string
	for i, w := range f.walks {
		next[i] = w.Stops[min(at[i]+1, len(w.Stops)-1)].Box.Name(f.language)
	}
	return f.language.Phrase("After the box %s each goes its own way: A to %s, B to %s.",
		f.walks[0].Stops[at[0]].Box.Name(f.language), next[0], next[1])
}

// Text says how the two ways are to each other at a position.
func (f *Fork) Text(at int) string {
	switch {
	case at >= f.Part:
		return f.why
	case at > 0 && f.Stops[at][0] == f.Stops[at-1][0]:
		return f.language.Phrase("B alone stops here.")
	case at > 0 && f.Stops[at][1] == f.Stops[at-1][1]:
		return f.language.Phrase("A alone stops here.")
	}
	return f.language.Phrase("Both come here.")
}

// Tell tells both walks: a line for each stop, and one where they part.
func (f *Fork) Tell() (lines []string) {
	was := [2]int{-1, -1}
	for at, stops := range f.Stops {
		for i, w := range f.walks {
			if stop := &w.Stops[stops[i]]; stops[i] != was[i] {
				lines = append(lines, fmt.Sprintf("%c %d/%d %s: %s", 'A'+i, stops[i]+1, len(w.Stops), stop.Box.Name(f.language), stop.Text))
			}
		}
		if was = stops; at == f.Part {
			lines = append(lines, f.why)
		}
	}
	return lines
}
