package structure

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/pane/rows"
	"github.com/kx-apiserver/kx/tui/theme"
)

// What the panes have of the width: below both they take turns.
const (
	bothFrom  = 90
	treeLeast = 40
	treeMost  = 72
	leastWide = 30 // what a border that the user moves leaves on both sides
)

// columnMost is how wide the names are in the tree at most.
const columnMost = 38

// areas are the widths of the panes; a pane that is not seen has none. The first line is the filter's.
func (s *Screen) areas() (tree, detail, height int) {
	height = max(s.h-1, 0)
	if s.w < bothFrom || s.zoomed {
		if s.focus == inTree {
			return s.w, 0, height
		}
		return 0, s.w, height
	}
	tree = layout.Split(s.w, min(max(s.w*2/5, treeLeast), treeMost), s.borders.Across, leastWide, leastWide)
	return tree, s.w - tree, height
}

// Borders implements screen.Resizer.
func (s *Screen) Borders() *layout.Borders { return &s.borders }

// Place implements screen.Resizer.
func (s *Screen) Place() layout.Rect {
	tree, detail, height := s.areas()
	if s.focus == inTree {
		return layout.At(0, 1, tree, height)
	}
	return layout.At(tree, 1, detail, height)
}

// Render implements screen.Screen.
func (s *Screen) Render() []string {
	look := s.host.Theme()
	treeWidth, detailWidth, height := s.areas()
	var blocks [][]string
	if treeWidth > 0 {
		s.list.SetSize(treeWidth, height)
		blocks = append(blocks, s.list.Render(s.content(), s.focus == inTree && !s.filtering, look))
	}
	if detailWidth > 0 {
		s.detail.SetSize(detailWidth, height)
		blocks = append(blocks, s.detail.Render(s.sheet(look), s.focus == inDetail && !s.filtering, look))
	}
	frame := append([]string{s.filterLine(look)}, draw.Beside(blocks...)...)
	return draw.Block(frame, s.w, s.h)
}

func (s *Screen) filterLine(look theme.Theme) string {
	found := fmt.Sprintf(" %d found ", s.tree.found)
	switch {
	case s.filtering && s.tree.filter == "":
		return " / " + s.typing.View(s.w-3)
	case s.filtering:
		return " / " + s.typing.View(s.w-3-len(found)) + found
	case s.tree.filter == "":
		return look.Dim(" / all parts of the server")
	}
	return draw.Ends(" / "+draw.Clean(s.tree.filter), found, s.w)
}

// content is the tree.
func (s *Screen) content() rows.Content {
	c := rows.Content{Title: "Structure", Rows: len(s.tree.rows), Row: s.row}
	switch {
	case s.failed != "" && !s.loaded:
		w, _ := s.list.Size()
		c.Empty = []string{""}
		for _, line := range draw.Wrap(s.failed, max(w-4, 1)) {
			c.Empty = append(c.Empty, " "+line)
		}
	case !s.loaded:
		c.Empty = []string{"", " The server is being asked how it is built."}
	default:
		c.Empty = []string{"", " No part has all of these words. esc shows all."}
	}
	return c
}

func (s *Screen) row(i int) rows.Row {
	n := s.tree.rows[i]
	fold := "  "
	if len(n.children) > 0 {
		fold = "▸ "
		if s.tree.open[n.id] || s.tree.filter != "" {
			fold = "▾ "
		}
	}
	text := strings.Repeat("  ", n.depth) + fold + n.label
	look := s.host.Theme()
	if n.part == nil {
		if n.depth > 0 && !s.tree.open[n.id] && s.tree.filter == "" {
			text += fmt.Sprintf(" (%d)", leaves(n))
		}
		return rows.Row{Text: text, Style: look.Title}
	}
	w, _ := s.list.Size()
	column := max(min(w/2, columnMost), draw.Width(text))
	return rows.Row{Text: draw.Fit(text, column) + "  " + s.noteOf(n)}
}

// noteOf is what stands behind a part.
func (s *Screen) noteOf(n *node) string {
	if r := n.part.Spec.Resource; r != nil {
		switch {
		case r.Cache != nil:
			return fmt.Sprintf("%s, cached: %d", n.note, r.Cache.Items)
		case r.Key == "":
			return n.note + ", not in etcd"
		}
		return n.note + ", not cached"
	}
	return n.note
}

// lines are what is known of the node under the cursor.
func (s *Screen) lines() []line {
	_, w, _ := s.areas()
	if w == 0 {
		w = s.w
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
		s.shown = sheetOfNode{node: n, whole: whole, w: inner, lines: sheetOf(s.tree, n, whole, inner)}
	}
	return s.shown.lines
}

// sheet is the right pane.
func (s *Screen) sheet(look theme.Theme) rows.Content {
	lines := s.lines()
	title := "Part"
	if n := s.node(); n != nil {
		title = n.label
		if n.part != nil {
			title = draw.Clean(n.part.Name)
		}
	}
	styles := map[tone]theme.Style{strong: look.Title, dim: look.Dim, good: look.Good, bad: look.Notice}
	return rows.Content{Title: title, Rows: len(lines), Row: func(i int) rows.Row {
		mark := ""
		if lines[i].leads() {
			mark = "·"
		}
		return rows.Row{Text: lines[i].text, Mark: mark, Style: styles[lines[i].tone]}
	}}
}

// leads says whether enter leads anywhere from the line.
func (l *line) leads() bool { return l.target != nil || l.part != "" }

// line is what the cursor is on in the right pane, or nil.
func (s *Screen) line() *line {
	lines := s.lines()
	if i := s.detail.Cursor(s.sheet(s.host.Theme())); i >= 0 {
		return &lines[i]
	}
	return nil
}

// Foot implements screen.Screen.
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

// Mouse implements screen.Screen.
func (s *Screen) Mouse(x, y, wheel int) tea.Cmd {
	treeWidth, _, _ := s.areas()
	if y == 0 && wheel == 0 {
		s.edit()
		return nil
	}
	ctx := inDetail
	if x < treeWidth {
		ctx = inTree
	}
	if wheel != 0 {
		pane.Wheel(wheel, func(id keys.ID) { s.move(ctx, id) })
		return s.sync()
	}
	s.focus, s.filtering = ctx, false
	if ctx == inTree {
		s.list.Click(y-1, s.content())
	} else {
		s.detail.Click(y-1, s.sheet(s.host.Theme()))
	}
	return s.sync()
}

// placeOf is the source under the cursor: the line's, or else the part's.
func (s *Screen) placeOf() *v1alpha1.CodePlace {
	if s.focus == inDetail {
		if l := s.line(); l != nil && l.place != nil {
			return l.place
		}
	}
	if n := s.node(); n != nil && n.part != nil && n.part.Spec.Source.File != "" {
		return &n.part.Spec.Source
	}
	return nil
}
