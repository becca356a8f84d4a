package structure

import (
	"fmt"
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/theme"
)

// The widths of the panes: below bothFrom they take turns.
const (
	bothFrom  = 90
	treeLeast = 40
	treeMost  = 72
	leastWide = 30 // the least width on both sides of a border that the user moves
)

// columnMost limits the width of names in the tree.
const columnMost = 38

// arrange places the panes side by side, if there is room for both.
func (s *Screen) arrange(w, h int) []layout.Rect {
	if w < bothFrom {
		return nil
	}
	tree := layout.Border(w, min(max(w*2/5, treeLeast), treeMost), s.Borders().Across, leastWide, leastWide)
	return []layout.Rect{layout.NewRect(0, 0, tree, h), layout.NewRect(tree, 0, w-tree, h)}
}

func (s *Screen) filterLine() []string {
	w, _ := s.Size()
	found := " " + s.host.Theme().Words.Phrase("%d found", s.tree.found) + " "
	line := draw.Ends(" / "+draw.Clean(s.tree.filter), found, w)
	switch {
	case s.Typing() && s.tree.filter == "":
		line = " / " + s.Line().View(w-3)
	case s.Typing():
		line = " / " + s.Line().View(w-3-len(found)) + found
	case s.tree.filter == "":
		line = s.host.Theme().Dim(" " + s.host.Theme().Words.Phrase("/ all parts of the server"))
	}
	return []string{line}
}

// content draws the tree.
func (s *Screen) content() pane.Content {
	c := pane.Content{Title: "Structure", Rows: len(s.tree.rows), Row: s.row}
	switch {
	case s.failed != "" && !s.loaded:
		w, _ := s.list.Size()
		c.Empty = []string{""}
		for _, line := range draw.Wrap(s.failed, max(w-4, 1)) {
			c.Empty = append(c.Empty, " "+line)
		}
	case !s.loaded:
		c.Empty = []string{"", " " + s.host.Theme().Words.Phrase("The server is being asked how it is built.")}
	default:
		c.Empty = []string{"", " " + s.host.Theme().Words.Phrase("No part has all of these words. esc shows all.")}
	}
	return c
}

func (s *Screen) row(i int) pane.Row {
	n := s.tree.rows[i]
	fold := "  "
	if len(n.children) > 0 {
		fold = "▸ "
		if s.tree.open[n.id] || s.tree.filter != "" {
			fold = "▾ "
		}
	}
	look := s.host.Theme()
	text := strings.Repeat("  ", n.depth) + fold + look.Words.Text(n.label)
	if n.part == nil {
		if n.depth > 0 && !s.tree.open[n.id] && s.tree.filter == "" {
			text += fmt.Sprintf(" (%d)", leaves(n))
		}
		return pane.Row{Text: text, Style: look.Title}
	}
	w, _ := s.list.Size()
	column := max(min(w/2, columnMost), draw.Width(text))
	return pane.Row{Text: draw.Fit(text, column) + "  " + s.noteOf(n)}
}

// noteOf returns the note behind a part.
func (s *Screen) noteOf(n *node) string {
	words := s.host.Theme().Words
	if r := n.part.Spec.Resource; r != nil {
		switch {
		case r.Cache != nil:
			return words.Phrase("%s, cached: %d", n.note, r.Cache.Items)
		case r.Key == "":
			return words.Phrase("%s, not in etcd", n.note)
		}
		return words.Phrase("%s, not cached", n.note)
	}
	return words.Text(n.note)
}

// lines returns the sheet of the node under the cursor.
func (s *Screen) lines() []line {
	w, _ := s.detail.Size()
	if w == 0 {
		w, _ = s.Size()
	}
	n := s.node()
	if n == nil {
		return nil
	}
	whole := s.whole[n.id]
	if inner := max(w-6, 1); s.shown.node != n || s.shown.whole != whole || s.shown.w != inner {
		if s.shown.node == nil || s.shown.node.id != n.id {
			s.detail.ToTop()
		}
		s.shown = shownSheet{node: n, whole: whole, w: inner, lines: sheetOf(s.tree, n, whole, inner, s.host.Theme().Words)}
	}
	return s.shown.lines
}

// sheet draws the right pane.
func (s *Screen) sheet() pane.Content {
	look, lines := s.host.Theme(), s.lines()
	title := look.Words.Phrase("Part")
	if n := s.node(); n != nil {
		title = look.Words.Text(n.label)
		if n.part != nil {
			title = draw.Clean(n.part.Name)
		}
	}
	styles := map[tone]theme.Style{strong: look.Title, dim: look.Dim, good: look.Good, bad: look.Notice}
	return pane.Content{Title: title, Rows: len(lines), Row: func(i int) pane.Row {
		mark := ""
		if lines[i].leads() {
			mark = "·"
		}
		return pane.Row{Text: lines[i].text, Mark: mark, Style: styles[lines[i].tone]}
	}}
}

// leads reports whether the line has a link.
func (l *line) leads() bool { return l.target != nil || l.part != "" }

// line returns the line under the cursor in the right pane, or nil.
func (s *Screen) line() *line {
	lines := s.lines()
	if i := s.detail.Cursor(); i >= 0 {
		return &lines[i]
	}
	return nil
}

func (s *Screen) Foot() (same, state string) {
	look := s.host.Theme()
	if n := s.node(); n != nil {
		command := "kubectl get structure"
		if n.part != nil {
			command += " " + n.part.Name + " -o yaml"
		}
		same = look.SameAs(command)
	}
	if s.failed != "" && s.loaded {
		state = look.Bad(" ! " + s.failed)
	}
	return same, state
}

// placeOf returns the source place under the cursor: the line's, or else the part's.
func (s *Screen) placeOf() *v1alpha1.CodePlace {
	if s.At() == detailPane {
		if l := s.line(); l != nil && l.place != nil {
			return l.place
		}
	}
	if n := s.node(); n != nil && n.part != nil && n.part.Spec.Source.File != "" {
		return &n.part.Spec.Source
	}
	return nil
}
