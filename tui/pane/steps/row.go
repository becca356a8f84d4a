package steps

import (
	"fmt"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/theme"
)

const (
	layerWidth   = len("transform")
	changedWidth = 4
	tookWidth    = 7
	marksWidth   = 4
	// subjectLeast is how much of a subject is worth being shown.
	subjectLeast = 16
	// whyFrom is the width from which a row has its reason beside it.
	whyFrom = 110
)

// row draws the i-th row.
func (p *Pane) row(i int, focused bool) string {
	n := p.rows[i]
	marks, style := "  ", theme.Style(nil)
	if i == p.scroll.Cursor {
		marks = "> "
	}
	text := p.textOf(n)
	switch {
	case text.err:
		marks, style = marks+"! ", p.theme.Bad
	case text.running:
		marks, style = marks+"~ ", p.theme.Notice
	default:
		marks += "  "
	}
	// A space behind layer, title and changes, one at the right edge.
	w := max(p.w-2-marksWidth-layerWidth-changedWidth-tookWidth-4, 0)
	title, why := w, 0
	if p.w >= whyFrom {
		title = w * 3 / 5
		why = w - title - 1
	}
	line := draw.Fit(titleOf(n, text, p.folded, title), title)
	if why > 0 {
		line += " " + draw.Fit(text.why, why)
	}
	layer, rest := draw.Fit(text.layer, layerWidth), line+" "+draw.FitRight(text.changed, changedWidth)+" "+draw.FitRight(text.took, tookWidth)+" "
	switch {
	case i == p.scroll.Cursor && focused:
		return p.theme.Selected(draw.Fit(marks+layer+" "+rest, p.w-2))
	case style != nil:
		return style(draw.Fit(marks+layer+" "+rest, p.w-2))
	}
	return marks + p.theme.Layer(layer) + " " + rest
}

// titleOf is a step's title at its depth in the tree, and what it is about if there is room for that: if not, the foot of
// the pane has it.
func titleOf(n *node, text rowText, folded func(*node) bool, w int) string {
	title := strings.Repeat("  ", n.depth) + foldMark(n, folded) + text.title
	if room := w - draw.Width(title) - 2; text.subject != "" && room >= min(subjectLeast, draw.Width(text.subject)) {
		title += "  " + draw.Fit(text.subject, room)
	}
	return title
}

func foldMark(n *node, folded func(*node) bool) string {
	switch {
	case len(n.children) == 0:
		return "  "
	case folded(n):
		return "+ "
	}
	return "- "
}

type rowText struct {
	layer, title, subject, why, changed, took string
	err, running                              bool
}

func (p *Pane) textOf(n *node) rowText {
	steps := p.journey.Status.Steps
	if n.step < 0 {
		return rowText{
			layer: filterLayer, title: fmt.Sprintf("%d filters", len(n.children)), took: draw.Duration(sum(n.children, steps)),
			err: failed(n, steps),
		}
	}
	s := &steps[n.step]
	t := rowText{layer: s.Layer, title: s.Title, subject: s.Subject, why: s.Why, took: draw.Duration(time.Duration(s.TookNanos)), err: s.Error != ""}
	if s.Error != "" {
		t.why = s.Error
	}
	if n := p.changed[n.step]; n > 0 {
		t.changed = fmt.Sprintf("~%d", min(n, 999))
	}
	if s.TookNanos < 0 {
		t.took, t.running = "...", true
	}
	return t
}

// sum is how long the steps of nodes took together.
func sum(nodes []*node, steps []v1alpha1.Step) time.Duration {
	var d time.Duration
	for _, n := range nodes {
		d += max(time.Duration(steps[n.step].TookNanos), 0)
	}
	return d
}
