package compare

import (
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/diff"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/shell"
	"github.com/kx-apiserver/kx/tui/theme"
)

// headLines is the number of lines above the panes, for the two requests.
const headLines = 3

// besideFrom is the width from which the panes are side by side.
const besideFrom = 120

// What a border that the user moves leaves on both sides.
const (
	leastWide = 30
	leastHigh = 4
)

// arrange places the panes side by side, or one below the other where that is too narrow.
func (s *Screen) arrange(w, h int) []layout.Rect {
	if w >= besideFrom {
		left := layout.Border(w, w*3/5, s.Borders().Across, leastWide, leastWide)
		return []layout.Rect{layout.NewRect(0, 0, left, h), layout.NewRect(left, 0, w-left, h)}
	}
	top := layout.Border(h, h*3/5, s.Borders().Down, leastHigh, leastHigh)
	return []layout.Rect{layout.NewRect(0, 0, w, top), layout.NewRect(0, top, w, h-top)}
}

// Render draws the panes, or says how to choose two requests.
func (s *Screen) Render() []string {
	if s.a == nil {
		w, h := s.Size()
		return draw.Block([]string{"", " " + s.host.Theme().Words.Phrase("Nothing is compared: %s.", s.howTo())}, w, h)
	}
	return s.Split.Render()
}

func (s *Screen) head() []string {
	look := s.host.Theme()
	return []string{s.request(look, "A <", s.a), s.request(look, "B >", s.b), s.verdict(look)}
}

// request draws one of the two requests in a line: its name, and at the right how it ended.
func (s *Screen) request(look theme.Theme, name string, j *v1alpha1.Journey) string {
	w, _ := s.Size()
	st := &j.Status
	end := string(st.Phase)
	if st.Code != 0 {
		end = look.Words.Phrase("%d in %s", st.Code, draw.Duration(time.Duration(st.TookMicros)*time.Microsecond))
	}
	return draw.Ends(" "+look.Tab(name)+" "+j.Name+"  "+j.Spec.Method+" "+j.Spec.URI, end+" ", w)
}

// verdict says how many steps are in both, how many of these differ, and how many are in one alone.
func (s *Screen) verdict(look theme.Theme) string {
	both, differ, onlyA, onlyB := diff.CountPairs(s.all)
	return look.Dim("     " + look.Words.Phrase(
		"%d steps in both, %d of them went otherwise (~); %d in A alone (<), %d in B alone (>)",
		both, differ, onlyA, onlyB))
}

// tookWidth is the width of a column of durations.
const tookWidth = 8

// columns makes a row w cells wide: the step takes what the two durations leave.
func columns(w int, step, a, b string) string {
	return draw.Fit(step, max(w-2*tookWidth-1, 0)) + draw.FitRight(a, tookWidth) + draw.FitRight(b, tookWidth) + " "
}

// stepRows describes the pane of the aligned steps.
func (s *Screen) stepRows() pane.Content {
	look := s.host.Theme()
	w, _ := s.steps.Size()
	w -= 5 // the frame, the cursor and the mark
	return pane.Content{
		Title: look.Title(look.Words.Phrase("Steps of both")),
		Head: []string{look.Dim("   " +
			columns(w, look.Words.Phrase("step"), look.Words.Phrase("A took"), look.Words.Phrase("B took")))},
		Counted: true,
		Rows:    len(s.rows), Row: func(i int) pane.Row { return s.pair(s.rows[i], w, look) },
	}
}

// indentMost limits the indent of a step: a server may send calls of any depth.
const indentMost = 40

// pair draws one pair, with the mark of its kind.
func (s *Screen) pair(p diff.StepPair, w int, look theme.Theme) pane.Row {
	title := s.title(p)
	row := pane.Row{Full: title, Text: columns(w, strings.Repeat(" ", min(2*p.Depth, indentMost))+title, took(s.a, p.A), took(s.b, p.B))}
	switch {
	case p.B < 0:
		row.Mark, row.Style = "<", look.Bad
	case p.A < 0:
		row.Mark, row.Style = ">", look.Good
	case p.Differs:
		row.Mark, row.Style = "~", look.Notice
	}
	return row
}

// title names a pair's step by its ID and title, or by both IDs if they differ.
func (s *Screen) title(p diff.StepPair) string {
	switch {
	case p.B < 0:
		return name(s.a, p.A)
	case p.A < 0:
		return name(s.b, p.B)
	}
	if a, b := s.a.Status.Steps[p.A].ID, s.b.Status.Steps[p.B].ID; a != b {
		return a + " | " + b
	}
	return name(s.a, p.A)
}

func name(j *v1alpha1.Journey, i int) string {
	return j.Status.Steps[i].ID + "  " + j.Status.Steps[i].Title
}

// took returns how long a step took: - if the request did not take it, ... while it runs.
func took(j *v1alpha1.Journey, i int) string {
	if i < 0 {
		return "-"
	}
	if n := j.Status.Steps[i].TookNanos; n >= 0 {
		return draw.Duration(time.Duration(n))
	}
	return "..."
}

// detailRows describes the pane of the pair under the cursor.
func (s *Screen) detailRows() pane.Content {
	look, lines := s.host.Theme(), s.lines()
	return pane.Content{Title: look.Title(look.Words.Phrase("The step in both")), Text: true, Rows: len(lines), Row: func(i int) pane.Row {
		return pane.Row{Text: lines[i].text, Style: lines[i].kind.style(look)}
	}}
}

func (s *Screen) Foot() (sameAs, state string) {
	if s.a == nil {
		return "", ""
	}
	return s.host.Theme().SameAs(shell.Line("kx", "trace", "compare", s.a.Name, s.b.Name)), ""
}
