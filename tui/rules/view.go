package rules

import (
	"fmt"
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/theme"
)

// leastHigh is the least height on both sides of a border that the user moves.
const leastHigh = 4

// arrange places the held requests below the rules. They get the height that they need, up to a third.
func (s *Screen) arrange(w, h int) []layout.Rect {
	if h < 2*3 {
		return nil
	}
	held := min(max(len(s.view.Held), 1)+2, max(h/3, 3))
	top := layout.Border(h, h-held, s.Borders().Down, leastHigh, leastHigh)
	return []layout.Rect{layout.NewRect(0, 0, w, top), layout.NewRect(0, top, w, h-top)}
}

// counts describes the numbers of rules that are on and off.
func (s *Screen) counts() string {
	on := 0
	for _, r := range s.view.Rules {
		if r.On {
			on++
		}
	}
	return s.host.Theme().Words.Phrase("%d on, %d off", on, len(s.view.Rules)-on)
}

// column is a column in the table of rules, as wide as its contents, up to w. Columns of least weight are dropped
// first.
type column struct {
	name   string
	w      int
	right  bool
	weight int
	of     func(control.Rule) string
}

// filterColumn takes the remaining width, at least filterLeast.
const (
	filterColumn = "filter"
	filterLeast  = 24
)

var columns = []column{
	{name: "on", w: 3, weight: 9, of: func(r control.Rule) string { return map[bool]string{true: "[x]", false: "[ ]"}[r.On] }},
	{name: "name", w: 20, weight: 8, of: func(r control.Rule) string { return r.Name }},
	{name: "what", w: 18, weight: 7, of: func(r control.Rule) string { return r.Summary() }},
	{name: "at", w: 5, weight: 3, of: func(r control.Rule) string { return string(r.Edge()) }},
	{name: filterColumn, weight: 10, of: func(r control.Rule) string { return orAny(r.Filter()) }},
	{name: "matches", w: 7, right: true, weight: 4, of: func(r control.Rule) string { return fmt.Sprint(r.Status.Matches) }},
	{name: "hits", w: 5, right: true, weight: 6, of: func(r control.Rule) string { return fmt.Sprint(r.Status.Hits) }},
	{name: "held", w: 4, right: true, weight: 5, of: func(r control.Rule) string { return fmt.Sprint(r.Status.Held) }},
	{name: "limits", w: 22, weight: 1, of: limits},
	{name: "last", w: 14, weight: 2, of: last},
}

func limits(r control.Rule) string {
	var parts []string
	skip, count := r.Counts()
	if skip > 0 {
		parts = append(parts, fmt.Sprintf("skip %d", skip))
	}
	if count > 0 {
		parts = append(parts, fmt.Sprintf("max %d", count))
	}
	if r.Fault != nil && r.Fault.Probability != nil && *r.Fault.Probability < 1 {
		parts = append(parts, fmt.Sprintf("p %g", *r.Fault.Probability))
	}
	return strings.Join(parts, " ")
}

func last(r control.Rule) string {
	switch hit := r.Status.LastHit; {
	case hit == nil:
		return "-"
	case hit.Journey == "":
		return hit.Step
	default:
		return hit.Journey
	}
}

// fitColumns returns the columns that fit, and the remaining width for the filter.
func fitColumns(w int, rules []control.Rule) (shown []column, filter int) {
	shown = append(shown, columns...)
	for i, c := range shown {
		shown[i].w = len(c.name)
		for _, r := range rules {
			shown[i].w = min(max(shown[i].w, draw.Width(draw.Clean(c.of(r)))), max(c.w, len(c.name)))
		}
	}
	for {
		filter = w - 2
		for _, c := range shown {
			if c.name != filterColumn {
				filter -= c.w + 2
			}
		}
		if filter >= filterLeast || len(shown) == 1 {
			return shown, max(filter, 0)
		}
		least := 0
		for i, c := range shown {
			if c.weight < shown[least].weight {
				least = i
			}
		}
		shown = append(shown[:least], shown[least+1:]...)
	}
}

// ruleRows draws the rules.
func (s *Screen) ruleRows() pane.Content {
	look := s.host.Theme()
	w, _ := s.rules.Size()
	c := pane.Content{Title: look.Title(look.Words.Phrase("Breakpoints and faults")), Note: s.counts(),
		NoMarks: true, Rows: len(s.view.Rules)}
	if c.Rows == 0 {
		c.Empty = s.explainNone(w, look)
		return c
	}
	shown, filter := fitColumns(w-2, s.view.Rules)
	line := func(text func(column) string) string {
		cells := make([]string, len(shown))
		for i, c := range shown {
			w := c.w
			if c.name == filterColumn {
				w = filter
			}
			if cells[i] = draw.Fit(text(c), w); c.right {
				cells[i] = draw.FitRight(text(c), w)
			}
		}
		return strings.Join(cells, "  ")
	}
	c.Head = []string{look.Dim("  " + line(func(c column) string { return look.Words.Text(c.name) }))}
	c.Row = func(i int) pane.Row {
		r := s.view.Rules[i]
		row := pane.Row{Text: line(func(c column) string { return draw.Clean(c.of(r)) })}
		if !r.On {
			row.Style = look.Dim
		}
		return row
	}
	return c
}

// explainNone explains which rules there could be.
func (s *Screen) explainNone(w int, look theme.Theme) []string {
	lines := []string{"  " + look.Words.Phrase("There are no breakpoints and no faults."), ""}
	for _, kind := range []control.Kind{control.Breakpoint, control.Fault} {
		if why := s.view.Refused[kind]; why != "" {
			for _, line := range draw.Wrap(draw.Clean(why), max(w-6, 1)) {
				lines = append(lines, "  "+look.Notice(line))
			}
		}
	}
	if len(lines) == 2 {
		lines = append(lines,
			"  "+look.Key("b")+" "+look.Words.Phrase("holds requests at a step, such as step:etcd.txn resource:configmaps"),
			"  "+look.Key("X")+" "+look.Words.Phrase("has them fail or wait"))
	}
	return lines
}

// heldRows draws the held requests.
func (s *Screen) heldRows() pane.Content {
	return pane.Content{
		Title: s.host.Theme().Title(s.host.Theme().Words.Phrase("Held requests")), NoMarks: true, Counted: true, Rows: len(s.view.Held),
		Empty: []string{"  " + s.host.Theme().Words.Phrase("No request is held.")},
		Row:   func(i int) pane.Row { return pane.Row{Text: draw.Clean(s.heldText(s.view.Held[i]))} },
	}
}

// heldText describes a held request in one line.
func (s *Screen) heldText(j *v1alpha1.Journey) string {
	q := &j.Spec
	what := q.Verb + " " + q.Resource
	if q.Verb == "" {
		what = q.Method + " " + q.URI
	}
	for _, part := range []string{q.Namespace, q.Name} {
		if part != "" {
			what += " " + part
		}
	}
	var at []string
	for _, h := range j.Status.Held {
		edge := ""
		if h.At == v1alpha1.AtEnd {
			edge = s.host.Theme().Words.Phrase("end of") + " "
		}
		at = append(at, s.host.Theme().Words.Phrase("at %s%d %s since %s by %s", edge, h.Step+1, h.ID,
			h.Since.In(s.host.Zone()).Format("15:04:05"), h.By))
	}
	return j.Name + "  " + what + "  " + strings.Join(at, ", ")
}

func (s *Screen) Foot() (same, state string) {
	look := s.host.Theme()
	same = look.SameAs("kubectl get breakpoints,faults")
	if s.view.Problem != "" {
		return same, look.Bad(" ! not what the server has now: " + s.view.Problem)
	}
	r, ok := s.selected()
	switch {
	case !ok || s.onHeld():
	case r.Note != "":
		state = look.Notice(" " + draw.Clean(r.Name+" is off: "+r.Note))
	case r.Status.Missed > 0:
		state = look.Notice(" " + look.Words.Phrase("%s would have held %d more: too many were held already",
			draw.Clean(r.Name), r.Status.Missed))
	case r.Sent:
		state = look.Dim(" " + look.Words.Phrase("%s holds the request that Send sent, and goes when that is answered", draw.Clean(r.Name)))
	case r.On && !r.Mine:
		state = look.Dim(" " + look.Words.Phrase("%s was not made here", draw.Clean(r.Name)))
	}
	return same, state
}
