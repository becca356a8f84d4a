package compare

import (
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/compare/align"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/theme"
)

// headLines are the two requests, above the panes.
const headLines = 3

// places is where the panes are.
type places struct{ steps, details layout.Rect }

// besideFrom is the width from which the panes are side by side.
const besideFrom = 120

func (s *Screen) places() places {
	h := max(s.h-headLines, 0)
	if s.w >= besideFrom {
		left := layout.Split(s.w, s.w*3/5, s.borders.Across, leastWide, leastWide)
		return places{layout.Rect{X: 0, Y: headLines, W: left, H: h}, layout.Rect{X: left, Y: headLines, W: s.w - left, H: h}}
	}
	top := layout.Split(h, h*3/5, s.borders.Down, leastHigh, leastHigh)
	return places{layout.Rect{X: 0, Y: headLines, W: s.w, H: top}, layout.Rect{X: 0, Y: headLines + top, W: s.w, H: h - top}}
}

// What a border that the user moves leaves on both sides.
const (
	leastWide = 30
	leastHigh = 4
)

// Borders implements screen.Resizer.
func (s *Screen) Borders() *layout.Borders { return &s.borders }

// Place implements screen.Resizer.
func (s *Screen) Place() layout.Rect {
	s.clamp()
	if s.focus == detailsPlace {
		return s.places().details
	}
	return s.places().steps
}

// room is how many lines a pane shows.
func (s *Screen) room(r layout.Rect) int { return max(r.H-2, 0) }

// rows is how many pairs are seen: the columns' names take a line.
func (s *Screen) rows() int { return max(s.room(s.places().steps)-1, 0) }

// Render implements screen.Screen.
func (s *Screen) Render() []string {
	look := s.host.Theme()
	if s.a == nil {
		return draw.Block([]string{"", " Nothing is compared: mark a request with m in Capture, and press D on another."}, s.w, s.h)
	}
	lines := []string{s.request(look, "A <", s.a), s.request(look, "B >", s.b), s.verdict(look)}
	at := s.places()
	left := s.box(look, "Steps of both", s.pairs(look, at.steps.W-2), at.steps, s.focus == stepsPlace)
	right := s.box(look, "The step in both", s.window(look), at.details, s.focus == detailsPlace)
	if at.details.X > 0 {
		return draw.Block(append(lines, draw.Beside(left, right)...), s.w, s.h)
	}
	return draw.Block(append(append(lines, left...), right...), s.w, s.h)
}

func (s *Screen) box(look theme.Theme, title string, lines []string, r layout.Rect, focused bool) []string {
	note := ""
	if r == s.places().steps && len(s.seen) > 0 {
		note = fmt.Sprintf("%d of %d", s.scroll.Cursor+1, len(s.seen))
	}
	return look.Box(lines, look.Title(title), note, r.W, r.H, focused)
}

// request is one of the two in a line.
func (s *Screen) request(look theme.Theme, name string, j *v1alpha1.Journey) string {
	st := &j.Status
	end := string(st.Phase)
	if st.Code != 0 {
		end = fmt.Sprintf("%d in %s", st.Code, draw.Duration(time.Duration(st.TookMicros)*time.Microsecond))
	}
	return draw.Ends(" "+look.Tab(name)+" "+j.Name+"  "+j.Spec.Method+" "+j.Spec.URI, end+" ", s.w)
}

// verdict says how much the two have in common.
func (s *Screen) verdict(look theme.Theme) string {
	both, differ, onlyA, onlyB := align.Count(s.all)
	return look.Dim(fmt.Sprintf("     %d steps in both, %d of them went otherwise (~); %d in A alone (<), %d in B alone (>)", both, differ, onlyA, onlyB))
}

// pairs are the rows in view, below the columns' names.
func (s *Screen) pairs(look theme.Theme, w int) []string {
	lines := []string{look.Dim(draw.Fit(columns(w, "   ", "step", "A took", "B took"), w))}
	for i := s.scroll.Top; i < min(s.scroll.Top+s.rows(), len(s.seen)); i++ {
		lines = append(lines, s.pair(look, i, w))
	}
	return lines
}

const tookWidth = 8

// columns puts the cells of a row together.
func columns(w int, marks, step, a, b string) string {
	return marks + draw.Fit(step, max(w-draw.Width(marks)-2*tookWidth-1, 0)) + draw.FitRight(a, tookWidth) + draw.FitRight(b, tookWidth) + " "
}

func (s *Screen) pair(look theme.Theme, i, w int) string {
	p := s.seen[i]
	marks, style := []byte("   "), theme.Style(nil)
	if i == s.scroll.Cursor {
		marks[0] = '>'
	}
	switch {
	case p.B < 0:
		marks[1], style = '<', look.Bad
	case p.A < 0:
		marks[1], style = '>', look.Good
	case p.Differs:
		marks[1], style = '~', look.Notice
	}
	text := columns(w, string(marks), strings.Repeat(" ", min(2*p.Depth, 40))+s.title(p), took(s.a, p.A), took(s.b, p.B))
	switch {
	case i == s.scroll.Cursor && s.focus == stepsPlace:
		return look.Selected(draw.Fit(text, w))
	case style != nil:
		return style(draw.Fit(text, w))
	}
	return text
}

// title is a pair's step; both, if they are not the same.
func (s *Screen) title(p align.Pair) string {
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

func took(j *v1alpha1.Journey, i int) string {
	if i < 0 {
		return "-"
	}
	if n := j.Status.Steps[i].TookNanos; n >= 0 {
		return draw.Duration(time.Duration(n))
	}
	return "..."
}

// window are the details in view.
func (s *Screen) window(look theme.Theme) []string {
	at := s.places().details
	all := s.made()
	s.view.Clamp(len(all), s.room(at))
	var lines []string
	for _, l := range all[min(s.view.Top, len(all)):min(s.view.Top+s.room(at), len(all))] {
		text := draw.Fit(" "+l.text, at.W-2)
		if style := l.kind.style(look); style != nil {
			text = style(text)
		}
		lines = append(lines, text)
	}
	return lines
}

// Foot implements screen.Screen.
func (s *Screen) Foot() (sameAs, state string) {
	if s.a == nil {
		return "", ""
	}
	return s.host.Theme().SameAs("kx trace compare " + s.a.Name + " " + s.b.Name), ""
}

// findStep goes to the next pair whose step has text.
func (s *Screen) findStep(text string) tea.Cmd {
	if s.find = text; text == "" {
		return nil
	}
	for n := 1; n <= len(s.seen); n++ {
		i := (s.scroll.Cursor + n) % len(s.seen)
		if strings.Contains(strings.ToLower(s.title(s.seen[i])), strings.ToLower(text)) {
			s.scroll.Cursor = i
			s.clamp()
			return nil
		}
	}
	s.host.Complain("no step has " + text)
	return nil
}
