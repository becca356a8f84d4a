package diff

import (
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
)

// StepPair is a step of one request with the corresponding step of the other.
type StepPair struct {
	// A and B are the indices of the steps; -1 if the request has no such step.
	A, B  int
	Depth int
	// Differs reports that both took the step with different outcomes: for another reason, or to another end.
	Differs bool
}

// pairsMost limits the comparisons among the steps below one step.
const pairsMost = 1 << 20

// Steps puts the steps of two requests side by side: common steps, steps of only one, and steps that differ.
//
// Steps correspond if they have the same ID, and their callers correspond, in the same order. Steps that each verb
// has for itself, such as handler.create and handler.update, correspond too. Below a step with very many children, only
// the common beginning is paired.
func Steps(a, b *v1alpha1.Journey) []StepPair {
	l := &aligner{a: tree(a.Status.Steps), b: tree(b.Status.Steps)}
	l.level(l.a.children(-1), l.b.children(-1), 0)
	return l.pairs
}

// side is one of the requests.
type side struct {
	steps []v1alpha1.Step
	below map[int][]int
}

func tree(taken []v1alpha1.Step) side {
	s := side{taken, make(map[int][]int, len(taken))}
	for i := range taken {
		parent := int(taken[i].Parent)
		if parent < 0 || parent >= i {
			parent = -1
		}
		s.below[parent] = append(s.below[parent], i)
	}
	return s
}

func (s side) children(i int) []int { return s.below[i] }

// key identifies corresponding steps: by ID, or by layer if each verb has such a step of its own.
func (s side) key(i int) string {
	if info := steps.InfoOf(s.steps[i].ID); info.PerVerb {
		return info.Layer.String()
	}
	return s.steps[i].ID
}

// aligner aligns level by level.
type aligner struct {
	a, b  side
	pairs []StepPair
}

// level aligns the children of one step, and below each pair their children.
func (l *aligner) level(a, b []int, depth int) {
	same := l.common(a, b)
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(same) > 0 && len(a) > 0 && len(b) > 0 && a[0] == same[0][0] && b[0] == same[0][1]:
			l.pairs = append(l.pairs, StepPair{A: a[0], B: b[0], Depth: depth, Differs: differs(&l.a.steps[a[0]], &l.b.steps[b[0]])})
			l.level(l.a.children(a[0]), l.b.children(b[0]), depth+1)
			a, b, same = a[1:], b[1:], same[1:]
		case len(a) > 0 && (len(same) == 0 || a[0] != same[0][0]):
			l.addAlone(l.a, a[0], depth, func(i int) StepPair { return StepPair{A: i, B: -1} })
			a = a[1:]
		default:
			l.addAlone(l.b, b[0], depth, func(i int) StepPair { return StepPair{A: -1, B: i} })
			b = b[1:]
		}
	}
}

// addAlone adds a step that only one request took, and the steps below it.
func (l *aligner) addAlone(s side, i, depth int, pair func(int) StepPair) {
	p := pair(i)
	p.Depth = depth
	l.pairs = append(l.pairs, p)
	for _, c := range s.children(i) {
		l.addAlone(s, c, depth+1, pair)
	}
}

// common returns the longest common subsequence of both lists.
func (l *aligner) common(a, b []int) [][2]int {
	if len(a)*len(b) > pairsMost {
		return l.prefix(a, b)
	}
	// longest[i][k] counts the pairs among a from i on and b from k on.
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for k := len(b) - 1; k >= 0; k-- {
			longest[i][k] = max(longest[i+1][k], longest[i][k+1])
			if l.a.key(a[i]) == l.b.key(b[k]) {
				longest[i][k] = max(longest[i][k], longest[i+1][k+1]+1)
			}
		}
	}
	var same [][2]int
	for i, k := 0, 0; i < len(a) && k < len(b); {
		switch {
		case l.a.key(a[i]) == l.b.key(b[k]) && longest[i][k] == longest[i+1][k+1]+1:
			same = append(same, [2]int{a[i], b[k]})
			i++
			k++
		case longest[i+1][k] >= longest[i][k+1]:
			i++
		default:
			k++
		}
	}
	return same
}

// prefix pairs the steps of two long lists one by one, up to the first difference.
func (l *aligner) prefix(a, b []int) [][2]int {
	var same [][2]int
	for i := 0; i < len(a) && i < len(b) && l.a.key(a[i]) == l.b.key(b[i]); i++ {
		same = append(same, [2]int{a[i], b[i]})
	}
	return same
}

// differs reports whether two steps differ in ID, in reason, or in failure.
func differs(a, b *v1alpha1.Step) bool {
	return a.ID != b.ID || a.Why != b.Why || (a.Error != "") != (b.Error != "")
}

// CountPairs counts the steps that both took, those of them that differ, and those that only one took.
func CountPairs(pairs []StepPair) (both, differ, onlyA, onlyB int) {
	for _, p := range pairs {
		switch {
		case p.B < 0:
			onlyA++
		case p.A < 0:
			onlyB++
		default:
			both++
			if p.Differs {
				differ++
			}
		}
	}
	return both, differ, onlyA, onlyB
}
