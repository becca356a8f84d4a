package steps

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/theme"
)

const (
	layerWidth   = len("transform")
	changedWidth = 4
	tookWidth    = 7
	marksWidth   = 4
	// titleLeast is the least width of a title beside lanes. From titleWell on, the layer has a column of its own
	// beside them. From titleNested on, titles are indented although the lanes show the calls.
	titleLeast  = 22
	titleWell   = 34
	titleNested = 40
	// subjectLeast is the least width at which a subject is shown.
	subjectLeast = 16
	// whyFrom is the width from which the reason stands in the row.
	whyFrom = 96
	// bothFrom is the width from which both the layer's name and the reason fit.
	bothFrom = 110
	// railBelow is the width below which rows are numbers and titles alone, in the colours of their layers.
	railBelow = 40
)

// columns holds the widths of a row's cells; 0 hides a cell.
type columns struct{ layer, lanes, number, title, why, changed, took int }

// rail reports whether the pane is a rail beside something that matters more.
func (c columns) rail() bool { return c.took == 0 }

// columnsFor shares w cells. As the pane gets narrower, it drops the reason first, then the layer's name, which the
// lanes show too, then the lanes, and at last all but numbers and titles.
func columnsFor(w, taken int) columns {
	c := columns{number: len(strconv.Itoa(max(taken, 1)))}
	if w+2 < railBelow {
		c.title = max(w-marksWidth-(c.number+1), 0)
		return c
	}
	c.changed, c.took = changedWidth, tookWidth
	left := max(w-marksWidth-(c.number+1)-changedWidth-(tookWidth+2)-1, 0)
	if left-(lanesWidth+1) >= titleLeast {
		c.lanes = lanesWidth
		left -= lanesWidth + 1
	}
	why := w+2 >= whyFrom
	if left-(layerWidth+1) >= titleWell && (!why || w+2 >= bothFrom) || c.lanes == 0 {
		c.layer = layerWidth
		left = max(left-(layerWidth+1), 0)
	}
	c.title = left
	if why {
		c.title = left * 3 / 5
		c.why = left - c.title - 1
	}
	return c
}

// head names the columns.
func (p *Pane) head(c columns) string {
	say := p.look().Words.Phrase
	return c.line("", rowText{layer: say("layer"), lanes: lanesHead(), number: "#", title: say("step"),
		why: say("why"), changed: say("chg"), took: say("took")})
}

// line puts the cells of a row together.
func (c columns) line(marks string, t rowText) string {
	var b strings.Builder
	b.WriteString(draw.Fit(marks, marksWidth))
	if c.layer > 0 {
		b.WriteString(draw.Fit(t.layer, c.layer) + " ")
	}
	if c.lanes > 0 {
		b.WriteString(draw.Fit(t.lanes, c.lanes) + " ")
	}
	b.WriteString(draw.FitRight(t.number, c.number) + " " + draw.Fit(t.title, c.title))
	if c.why > 0 {
		b.WriteString(" " + draw.Fit(t.why, c.why))
	}
	if !c.rail() {
		b.WriteString(" " + draw.FitRight(t.changed, c.changed) + " " + draw.FitRight(t.took, c.took) + draw.Fit(t.heat, 1))
	}
	return b.String()
}

// row draws the i-th row.
func (p *Pane) row(c columns, i int, focused bool) string {
	n := p.rows[i]
	marks, style := []byte("    "), theme.Style(nil)
	if i == p.scroll.Cursor {
		marks[0] = '>'
	}
	t := p.textOf(n, i)
	switch {
	case t.err:
		marks[1], style = '!', p.look().Bad
	case t.held:
		marks[1], style = '=', p.look().Notice
	case t.running:
		marks[1], style = '~', p.look().Notice
	}
	if t.touched {
		marks[2] = '*'
	}
	t.title = p.titleOf(n, t, c)
	switch {
	case i == p.scroll.Cursor && focused:
		return p.look().Selected(draw.Fit(c.line(string(marks), t), p.w-2))
	case style != nil:
		return style(draw.Fit(c.line(string(marks), t), p.w-2))
	}
	if n.caused() {
		return p.look().Dim(draw.Fit(c.line(string(marks), t), p.w-2))
	}
	paint := p.look().LayerOf(t.layer)
	t.why = p.look().Dim(draw.Fit(t.why, c.why))
	t.layer, t.lanes = paint(draw.Fit(t.layer, c.layer)), paint(draw.Fit(t.lanes, c.lanes))
	if c.rail() {
		t.title = paint(t.title)
	}
	if t.hot {
		t.took, t.heat = p.look().Notice(draw.FitRight(t.took, tookWidth)), p.look().Notice(t.heat)
	}
	return draw.Fit(c.line(string(marks), t), p.w-2)
}

// titleOf returns a step's title at its depth, with its subject if that fits: if not, the foot of the pane shows it.
func (p *Pane) titleOf(n *node, t rowText, c columns) string {
	depth := 2 * n.depth
	if c.lanes > 0 || c.rail() {
		if depth = 0; !n.caused() && c.title >= titleNested {
			depth = depthIn(p.journey.Status.Steps, n.first)
		}
	}
	title := strings.Repeat(" ", depth) + foldMark(n, p.folded)
	if p.named && n.called() {
		if id := p.journey.Status.Steps[n.step].ID; draw.Width(title)+draw.Width(id) < c.title {
			title += id + "  "
		}
	}
	title += t.title
	if room := c.title - draw.Width(title) - 2; t.subject != "" && room >= min(subjectLeast, draw.Width(t.subject)) {
		title += "  " + draw.Fit(t.subject, room)
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

// rowText holds the texts and states of a row.
type rowText struct {
	layer, lanes, number, title, subject, why, changed, took, heat string
	err, running, held, touched                                    bool
	// hot marks a step that took much of the time.
	hot bool
}

// textOf returns the contents of the i-th row, whose node is n.
func (p *Pane) textOf(n *node, i int) rowText {
	st, words := &p.journey.Status, p.look().Words
	switch n.kind {
	case isGroup:
		return rowText{
			layer: st.Steps[n.first].Layer, title: groupTitle(n, st.Steps, words), took: draw.Duration(sum(n.children, st.Steps)),
			err: failed(n, st.Steps), lanes: drawLane(st.Steps, n.first, -1),
		}
	case isMark:
		m := &st.Marks[n.index]
		from := p.layerAbove(n, i)
		return rowText{layer: m.Layer, lanes: causes(from, m.Layer), title: words.Text(m.Title),
			took: formatOffset(m.AfterMicros), why: words.Phrase("caused by revision %d", m.Revision)}
	case isDelivery:
		d := &st.Deliveries[n.index]
		return rowText{layer: "watch", lanes: causes(steps.LayerCacher.String(), steps.LayerHandler.String()),
			title: words.Phrase("%s to %s", d.Type, watcher(d, words)), took: formatOffset(d.AfterMicros),
			why: words.Phrase("caused by revision %d, sent by journey %s", d.Revision, d.Watcher)}
	}
	s := &st.Steps[n.step]
	t := rowText{
		layer: s.Layer, lanes: drawLane(st.Steps, n.step, p.stepAbove(i)), number: strconv.Itoa(n.step + 1),
		title: words.Text(s.Title), subject: s.Subject,
		why: words.Why(p.journey, s), took: draw.Duration(time.Duration(s.TookNanos)), err: s.Error != "", touched: p.touched[n.step],
	}
	if s.Error != "" {
		t.why = s.Error
	}
	if n := p.changed[n.step]; n > 0 {
		t.changed = fmt.Sprintf("~%d", min(n, 999))
	}
	if s.TookNanos < 0 {
		t.took, t.running = "...", true
	}
	if p.held[n.step] {
		t.took, t.held = "||", true
	}
	t.heat, t.hot = p.heat(n)
	return t
}

// groupTitle is the title of a folded group: the number of filters, or the names of details.
func groupTitle(n *node, taken []v1alpha1.Step, words lang.Language) string {
	var names []string
	filters := 0
	for _, child := range n.children {
		if isFilter(child, taken) {
			filters++
		} else {
			names = append(names, steps.Detail(taken[child.step].ID))
		}
	}
	if filters == 0 {
		return words.Phrase("details: %s", strings.Join(names, ", "))
	}
	return strings.Join(append([]string{words.Phrase("%d filters", filters)}, names...), ", ")
}

// heats lists signs for the share of the request's time that a step took by itself, each from its share on. Filters
// share one row and have no sign.
var heats = []struct {
	from float64
	sign string
}{{0.5, "█"}, {0.25, "▆"}, {0.1, "▃"}}

// heat returns the sign for the share of time that a step took by itself, without the steps that it called.
func (p *Pane) heat(n *node) (sign string, hot bool) {
	all := p.journey.Status.TookMicros * int64(time.Microsecond)
	if all <= 0 {
		return "", false
	}
	part := float64(p.alone[n.step]) / float64(all)
	for i, h := range heats {
		if part >= h.from {
			return h.sign, i < 2
		}
	}
	return "", false
}

// ownTimes returns the time of each step without the steps that it called, in nanoseconds.
func ownTimes(taken []v1alpha1.Step) []int64 {
	own := make([]int64, len(taken))
	for i := range taken {
		own[i] += max(taken[i].TookNanos, 0)
		if parent := parentOf(taken, i); parent >= 0 {
			own[parent] -= max(taken[i].TookNanos, 0)
		}
	}
	return own
}

// stepAbove returns the last step in a row above the i-th; -1 for none. It skips consequences of writes, since
// control did not pass there.
func (p *Pane) stepAbove(i int) int {
	for i--; i >= 0; i-- {
		switch n := p.rows[i]; n.kind {
		case isStep:
			return n.step
		case isGroup:
			return n.first
		}
	}
	return -1
}

// layerAbove returns the layer that a consequence of a write came from.
func (p *Pane) layerAbove(n *node, i int) string {
	if i > 0 {
		if above := p.rows[i-1]; above.kind == isMark && above.step == n.step {
			return p.journey.Status.Marks[above.index].Layer
		}
	}
	if n.step >= 0 {
		return p.journey.Status.Steps[n.step].Layer
	}
	return ""
}

// formatOffset formats a time since the beginning of the journey.
func formatOffset(micros int64) string {
	return "+" + draw.Duration(time.Duration(micros)*time.Microsecond)
}

// watcher names the receiver of an event.
func watcher(d *v1alpha1.Delivery, words lang.Language) string {
	switch {
	case d.UserAgent != "" && d.User != "":
		return words.Phrase("%s of %s", d.UserAgent, d.User)
	case d.UserAgent != "":
		return d.UserAgent
	}
	return d.User
}

// sum adds up the durations of the nodes' steps.
func sum(nodes []*node, taken []v1alpha1.Step) time.Duration {
	var d time.Duration
	for _, n := range nodes {
		if n.called() {
			d += max(time.Duration(taken[n.step].TookNanos), 0)
		}
	}
	return d
}
