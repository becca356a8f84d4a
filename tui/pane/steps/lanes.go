package steps

import (
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
)

// lanesWidth is the width of the lanes: a cell for each lane, and one between. Calls go to the right; a step to the
// left of its caller calls back to an upper layer.
const lanesWidth = 2*len(steps.Lanes) - 1

// lanesHead returns the names of the lanes.
func lanesHead() string {
	head := make([]byte, lanesWidth)
	for i := range head {
		head[i] = ' '
		if i%2 == 0 {
			head[i] = steps.Lanes[i/2]
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

// drawLane draws the i-th step: a * in its lane, a | in the lanes of the calls that wait for it, and the way of control
// to it. A call from another lane is +->*, a call back up is *<-+. A return from the previous call, in the row above,
// is *<··. Steps of layers without a lane have no picture.
func drawLane(taken []v1alpha1.Step, i, above int) string {
	p := blank()
	own, ok := steps.LaneOf(taken[i].Layer)
	if !ok {
		return string(p)
	}
	caller := parentOf(taken, i)
	for n := caller; n >= 0; n = parentOf(taken, n) {
		if l, ok := steps.LaneOf(taken[n].Layer); ok {
			p[2*l] = '|'
		}
	}
	from, known := own, false
	if caller >= 0 {
		from, known = steps.LaneOf(taken[caller].Layer)
	}
	switch {
	case known && from != own:
		p.arrow(from, own, '+', '-')
	case above >= 0:
		if from, known = steps.LaneOf(taken[above].Layer); known && from != own {
			p.arrow(from, own, '·', '·')
		}
	}
	p[2*own] = '*'
	return string(p)
}

// parentOf returns the step that called the i-th, which began before it; -1 for none.
func parentOf(taken []v1alpha1.Step, i int) int {
	if parent := int(taken[i].Parent); parent >= 0 && parent < i {
		return parent
	}
	return -1
}

// causes draws a consequence of a revision. It has no caller: it follows from the revision, or from the consequence
// before.
func causes(from, to string) string {
	p := blank()
	own, ok := steps.LaneOf(to)
	if !ok {
		return string(p)
	}
	if source, known := steps.LaneOf(from); known && source != own {
		p.arrow(source, own, '~', '~')
	}
	p[2*own] = 'o'
	return string(p)
}

// depthIn returns the depth of a step within its own lane: the lanes show the rest.
func depthIn(taken []v1alpha1.Step, i int) int {
	depth := 0
	own, _ := steps.LaneOf(taken[i].Layer)
	for n := parentOf(taken, i); n >= 0; n = parentOf(taken, n) {
		if lane, _ := steps.LaneOf(taken[n].Layer); lane != own {
			break
		}
		depth++
	}
	return min(depth, 4)
}
