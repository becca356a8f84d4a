package steps

import "github.com/kx-apiserver/kx/core/kxapi/v1alpha1"

// node is a row of the tree: a step, or a group of filters.
type node struct {
	step     int // the index of the step; -1 for a group
	first    int // the index of the first step in it
	depth    int
	children []*node
}

// foldKey is what a fold is remembered by: a group from its first step on, or a step.
type foldKey struct {
	first int
	group bool
}

func (n *node) key() foldKey { return foldKey{first: n.first, group: n.step < 0} }

// filterLayer is the layer whose steps are grouped.
const filterLayer = "filter"

// depthMost bounds how far the tree is indented.
const depthMost = 24

// tree nests the steps as they called each other.
func tree(steps []v1alpha1.Step) []*node {
	nodes := make([]*node, len(steps))
	var roots []*node
	for i := range steps {
		n := &node{step: i, first: i}
		nodes[i] = n
		if parent := int(steps[i].Parent); parent >= 0 && parent < i {
			n.depth = min(nodes[parent].depth+1, depthMost)
			nodes[parent].children = append(nodes[parent].children, n)
		} else {
			roots = append(roots, n)
		}
	}
	return group(roots, steps)
}

// group puts filters that follow one another below one node.
func group(roots []*node, steps []v1alpha1.Step) []*node {
	var out []*node
	for i := 0; i < len(roots); {
		end := i
		for end < len(roots) && steps[roots[end].step].Layer == filterLayer {
			end++
		}
		if end-i < 2 {
			out = append(out, roots[i])
			i++
			continue
		}
		g := &node{step: -1, first: roots[i].step, children: roots[i:end:end]}
		deepen(g.children)
		out = append(out, g)
		i = end
	}
	return out
}

func deepen(nodes []*node) {
	for _, n := range nodes {
		n.depth = min(n.depth+1, depthMost)
		deepen(n.children)
	}
}

// failed says whether a step below the node ended with an error.
func failed(n *node, steps []v1alpha1.Step) bool {
	if n.step >= 0 && steps[n.step].Error != "" {
		return true
	}
	return anyFailed(n.children, steps)
}

func anyFailed(nodes []*node, steps []v1alpha1.Step) bool {
	for _, n := range nodes {
		if failed(n, steps) {
			return true
		}
	}
	return false
}

// visible lists the nodes that no fold hides, in order.
func visible(nodes []*node, folded func(*node) bool) []*node {
	var out []*node
	for _, n := range nodes {
		out = append(out, n)
		if len(n.children) > 0 && !folded(n) {
			out = append(out, visible(n.children, folded)...)
		}
	}
	return out
}
