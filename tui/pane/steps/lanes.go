package steps

import (
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
)

// lanesWidth is how wide the picture is that shows into which layer control went, and how it came back: a cell a lane, and
// one between. Calls go to the right. What is to the left of its caller climbs back up.
const lanesWidth = 2*len(trace.Lanes) - 1

// lanesHead is the names of the lanes.
func lanesHead() string {
	head := make([]byte, lanesWidth)
	for i := range head {
		head[i] = ' '
		if i%2 == 0 {
			head[i] = trace.Lanes[i/2]
		}
	}
	return string(head)
}

// picture is one row of the lanes.
type picture []rune

func blank() picture {
	p := make(picture, lanesWidth)
	for i := range p {
		p[i] = ' '
	}
	return p
}

// arrow draws from one lane to another.
func (p picture) arrow(from, to int, origin, shaft rune) {
	step, head := 1, '>'
	if to < from {
		step, head = -1, '<'
	}
	p[2*from] = origin
	for i := 2*from + step; i != 2*to; i += step {
		p[i] = shaft
	}
	p[2*to-step] = head
}

// called draws the i-th step: a * in its lane, a | in those of the calls that wait for it, and how control came there. A
// call from another lane is +->*, one that climbs back up *<-+. Where control came back from what was called before, which
// is the step in the row above, it is *<··. Steps of layers that have no lane have no picture.
func called(steps []v1alpha1.Step, i, above int) string {
	p := blank()
	own, ok := trace.LaneOf(steps[i].Layer)
	if !ok {
		return string(p)
	}
	caller := parentOf(steps, i)
	for n := caller; n >= 0; n = parentOf(steps, n) {
		if l, ok := trace.LaneOf(steps[n].Layer); ok {
			p[2*l] = '|'
		}
	}
	from, known := own, false
	if caller >= 0 {
		from, known = trace.LaneOf(steps[caller].Layer)
	}
	switch {
	case known && from != own:
		p.arrow(from, own, '+', '-')
	case above >= 0:
		if from, known = trace.LaneOf(steps[above].Layer); known && from != own {
			p.arrow(from, own, '·', '·')
		}
	}
	p[2*own] = '*'
	return string(p)
}

// parentOf is the step that called the i-th, which began before it; -1 for none.
func parentOf(steps []v1alpha1.Step, i int) int {
	if parent := int(steps[i].Parent); parent >= 0 && parent < i {
		return parent
	}
	return -1
}

// causes draws what nobody called: it came of a revision, or of what came before it of that.
func causes(from, to string) string {
	p := blank()
	own, ok := trace.LaneOf(to)
	if !ok {
		return string(p)
	}
	if source, known := trace.LaneOf(from); known && source != own {
		p.arrow(source, own, '~', '~')
	}
	p[2*own] = 'o'
	return string(p)
}

// depthIn is how deep a step is among those of its own lane: the lanes show the rest.
func depthIn(steps []v1alpha1.Step, i int) int {
	depth := 0
	own, _ := trace.LaneOf(steps[i].Layer)
	for n := parentOf(steps, i); n >= 0; n = parentOf(steps, n) {
		if lane, _ := trace.LaneOf(steps[n].Layer); lane != own {
			break
		}
		depth++
	}
	return min(depth, 4)
}
