package rules

import (
	"fmt"
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/theme"
)

// heights are those of the panes: the held requests have what they need, up to a third.
func (s *Screen) heights() (rules, held int) {
	held = min(max(len(s.view.Held), 1)+2, max(s.h/3, 3))
	if s.h < 2*3 {
		return s.h, 0
	}
	rules = layout.Split(s.h, s.h-held, s.borders.Down, leastHigh, leastHigh)
	return rules, s.h - rules
}

// leastHigh is what a border that the user moves leaves on both sides.
const leastHigh = 4

// Borders implements screen.Resizer.
func (s *Screen) Borders() *layout.Borders { return &s.borders }

// Place implements screen.Resizer.
func (s *Screen) Place() layout.Rect {
	s.clamp()
	top, bottom := s.heights()
	if s.onHeld {
		return layout.At(0, top, s.w, bottom)
	}
	return layout.At(0, 0, s.w, top)
}

// Render implements screen.Screen.
func (s *Screen) Render() []string {
	top, bottom := s.heights()
	look := s.host.Theme()
	frame := s.box(s.ruleLines(look, top-2), "Breakpoints and faults", s.counts(), top, !s.onHeld, look)
	if bottom > 0 {
		note := ""
		if n := len(s.view.Held); n > 0 {
			note = fmt.Sprintf("%d of %d", s.held.Cursor+1, n)
		}
		frame = append(frame, s.box(s.heldLines(look, bottom-2), "Held requests", note, bottom, s.onHeld, look)...)
	}
	return draw.Block(frame, s.w, s.h)
}

func (s *Screen) box(lines []string, title, note string, h int, focused bool, look theme.Theme) []string {
	return look.Box(lines, look.Title(title), note, s.w, h, focused)
}

// counts are how many rules are on and off.
func (s *Screen) counts() string {
	on := 0
	for _, r := range s.view.Rules {
		if r.On {
			on++
		}
	}
	return fmt.Sprintf("%d on, %d off", on, len(s.view.Rules)-on)
}

// column is one of the table of rules. It is as wide as what it has, up to w. Those of least weight go first where there is
// no room.
type column struct {
	name   string
	w      int
	right  bool
	weight int
	of     func(control.Rule) string
}

// filterColumn has what the others leave, and filterLeast at least.
const (
	filterColumn = "filter"
	filterLeast  = 24
)

var columns = []column{
	{name: "on", w: 3, weight: 9, of: func(r control.Rule) string { return map[bool]string{true: "[x]", false: "[ ]"}[r.On] }},
	{name: "name", w: 20, weight: 8, of: func(r control.Rule) string { return r.Name }},
	{name: "what", w: 18, weight: 7, of: func(r control.Rule) string { return r.What() }},
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

// fitting are the columns that there is room for, and what of it is left for the filter.
func fitting(w int, rules []control.Rule) (shown []column, filter int) {
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

func (s *Screen) ruleLines(look theme.Theme, h int) []string {
	if len(s.view.Rules) == 0 {
		return s.nothing(look)
	}
	shown, filter := fitting(s.w-2, s.view.Rules)
	row := func(mark string, text func(column) string) string {
		line := mark
		for i, c := range shown {
			w, gap := c.w, "  "
			if c.name == filterColumn {
				w = filter
			}
			if i == len(shown)-1 {
				gap = ""
			}
			if c.right {
				line += draw.FitRight(text(c), w) + gap
			} else {
				line += draw.Fit(text(c), w) + gap
			}
		}
		return line
	}
	lines := []string{look.Dim(row("  ", func(c column) string { return c.name }))}
	rows := max(h-1, 1)
	for i := s.rules.Top; i < min(s.rules.Top+rows, len(s.view.Rules)); i++ {
		r := s.view.Rules[i]
		mark := "  "
		if i == s.rules.Cursor {
			mark = "> "
		}
		line := row(mark, func(c column) string { return draw.Clean(c.of(r)) })
		switch {
		case i == s.rules.Cursor && !s.onHeld:
			line = look.Selected(line)
		case !r.On:
			line = look.Dim(line)
		}
		lines = append(lines, line)
	}
	return lines
}

// nothing says what there could be.
func (s *Screen) nothing(look theme.Theme) []string {
	lines := []string{"  There are no breakpoints and no faults.", ""}
	for _, kind := range []control.Kind{control.Breakpoint, control.Fault} {
		if why := s.view.Refused[kind]; why != "" {
			for _, line := range draw.Wrap(draw.Clean(why), max(s.w-6, 1)) {
				lines = append(lines, "  "+look.Notice(line))
			}
		}
	}
	if len(lines) == 2 {
		lines = append(lines, "  "+look.Key("b")+" holds requests at a step, such as step:etcd.txn resource:configmaps",
			"  "+look.Key("X")+" has them fail or wait")
	}
	return lines
}

func (s *Screen) heldLines(look theme.Theme, h int) []string {
	if len(s.view.Held) == 0 {
		return []string{"  No request is held."}
	}
	var lines []string
	for i := s.held.Top; i < min(s.held.Top+max(h, 1), len(s.view.Held)); i++ {
		mark := "  "
		if i == s.held.Cursor {
			mark = "> "
		}
		line := draw.Fit(mark+draw.Clean(s.heldText(s.view.Held[i])), s.w-2)
		if i == s.held.Cursor && s.onHeld {
			line = look.Selected(line)
		}
		lines = append(lines, line)
	}
	return lines
}

// heldText is a held request in one line.
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
			edge = "end of "
		}
		at = append(at, fmt.Sprintf("at %s%d %s since %s by %s", edge, h.Step+1, h.ID, h.Since.In(s.host.Zone()).Format("15:04:05"), h.By))
	}
	return j.Name + "  " + what + "  " + strings.Join(at, ", ")
}

// Foot implements screen.Screen.
func (s *Screen) Foot() (same, state string) {
	look := s.host.Theme()
	same = look.SameAs("kubectl get breakpoints,faults")
	if s.view.Problem != "" {
		return same, look.Bad(" ! not what the server has now: " + s.view.Problem)
	}
	r, ok := s.selected()
	switch {
	case !ok || s.onHeld:
	case r.Note != "":
		state = look.Notice(" " + draw.Clean(r.Name+" is off: "+r.Note))
	case r.Status.Missed > 0:
		state = look.Notice(fmt.Sprintf(" %s would have held %d more: too many were held already", draw.Clean(r.Name), r.Status.Missed))
	case r.Sent:
		state = look.Dim(" " + draw.Clean(r.Name) + " holds the request that Send sent, and goes when that is answered")
	case r.On && !r.Mine:
		state = look.Dim(" " + draw.Clean(r.Name) + " was not made here")
	}
	return same, state
}
