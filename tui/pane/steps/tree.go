package steps

import (
	"slices"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
)

// kind is the type of a row in the tree.
type kind uint8

const (
	isStep     kind = iota
	isGroup         // filters, or details of one step
	isMark          // the watch cache's handling of the event of a write
	isDelivery      // the event on its way to a watcher
)

// node is a row of the tree: a step, a group of steps, or a consequence of a write.
type node struct {
	kind     kind
	step     int // the index of the step, or of the step that caused the row; -1 for a group, and for an unknown cause
	index    int // of the mark or delivery
	first    int // the index of the first step in it
	depth    int
	children []*node
}

// foldKey identifies a fold: a group by its first step, or a step.
type foldKey struct {
	first int
	group bool
}

func (n *node) key() foldKey { return foldKey{first: n.first, group: n.kind == isGroup} }

// called reports whether the node is a step.
func (n *node) called() bool { return n.kind == isStep }

// caused reports whether the node is a consequence of a write.
func (n *node) caused() bool { return n.kind == isMark || n.kind == isDelivery }

// filterLayer is the layer whose steps are grouped, as details are.
var filterLayer = steps.LayerFilter.String()

// depthMost limits the indentation of the tree.
const depthMost = 24

// tree nests the steps by their calls, and hangs the consequences of a write below the step that wrote.
func tree(status *v1alpha1.JourneyStatus) []*node {
	taken := status.Steps
	nodes := make([]*node, len(taken))
	writers := map[int64]*node{}
	var roots []*node
	for i := range taken {
		n := &node{step: i, first: i}
		nodes[i] = n
		if parent := parentOf(taken, i); parent >= 0 {
			n.depth = min(nodes[parent].depth+1, depthMost)
			nodes[parent].children = append(nodes[parent].children, n)
		} else {
			roots = append(roots, n)
		}
		if _, revision, ok := blame.StepWrite(&taken[i]); ok {
			writers[revision] = n
		}
	}
	roots = group(roots, taken, isRootDetail)
	groupDetails(nodes, taken)
	hang := func(n *node, revision int64) {
		writer := writers[revision]
		if writer == nil {
			n.step, n.first = -1, len(taken)+n.index
			roots = append(roots, n)
			return
		}
		n.step, n.first, n.depth = writer.step, writer.step, min(writer.depth+1, depthMost)
		writer.children = append(writer.children, n)
	}
	for i := range status.Marks {
		hang(&node{kind: isMark, index: i}, status.Marks[i].Revision)
	}
	for i := range status.Deliveries {
		hang(&node{kind: isDelivery, index: i}, status.Deliveries[i].Revision)
	}
	return roots
}

func isFilter(n *node, taken []v1alpha1.Step) bool { return taken[n.step].Layer == filterLayer }

func isRootDetail(n *node, taken []v1alpha1.Step) bool {
	return isFilter(n, taken) || isDetail(n, taken)
}

// isDetail reports whether a step is a fine one that called no other and succeeded.
func isDetail(n *node, taken []v1alpha1.Step) bool {
	s := &taken[n.step]
	return len(n.children) == 0 && s.Error == "" && steps.InfoOf(s.ID).Fine
}

// onlyDetails reports whether a step called nothing but details.
func onlyDetails(n *node, taken []v1alpha1.Step) bool {
	return n.called() && len(n.children) > 0 && !slices.ContainsFunc(n.children, func(child *node) bool {
		return !child.called() || !isDetail(child, taken)
	})
}

// groupDetails groups the details below each of the nodes.
func groupDetails(nodes []*node, taken []v1alpha1.Step) {
	for _, n := range nodes {
		n.children = group(n.children, taken, isDetail)
	}
}

// group puts each run of nodes of a kind below one node.
func group(roots []*node, taken []v1alpha1.Step, ofKind func(*node, []v1alpha1.Step) bool) []*node {
	var out []*node
	for i := 0; i < len(roots); {
		end := i
		for end < len(roots) && ofKind(roots[end], taken) {
			end++
		}
		if end-i < 2 {
			out = append(out, roots[i])
			i++
			continue
		}
		g := &node{kind: isGroup, step: -1, first: roots[i].step, depth: roots[i].depth, children: slices.Clone(roots[i:end])}
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

// failed reports whether the node or a step below it ended with an error.
func failed(n *node, taken []v1alpha1.Step) bool {
	if n.called() && taken[n.step].Error != "" {
		return true
	}
	return anyFailed(n.children, taken)
}

func anyFailed(nodes []*node, taken []v1alpha1.Step) bool {
	for _, n := range nodes {
		if failed(n, taken) {
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
