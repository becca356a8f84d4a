package etcd

import (
	"fmt"
	"strings"

	"github.com/kx-apiserver/kx/tui/diff"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/theme"
)

// headLine draws the line that names the revision in view.
func (s *Screen) headLine() []string {
	look := s.host.Theme()
	w, _ := s.Size()
	var right []string
	if s.head.Compacted > 0 {
		right = append(right, look.Words.Phrase("compacted %d", s.head.Compacted))
	}
	switch {
	case s.at > 0:
	case s.unfollowed != "":
		right = append(right, look.Bad("! "+look.Words.Phrase("not followed")))
	case s.following:
		right = append(right, "follow on")
	default:
		right = append(right, "follow off")
	}
	left := " etcd"
	switch {
	case s.at > 0:
		left = look.Notice(" @ " + look.Words.Phrase("AS AT REVISION %d of %d, not now: esc goes back", s.at, s.head.Revision))
	case s.head.Revision > 0:
		left = " " + look.Words.Phrase("etcd now, revision %d", s.head.Revision)
	}
	return []string{draw.Ends(left, strings.Join(right, " | ")+" ", w)}
}

// asAt names the revision in view in a sentence; empty for the present.
func (s *Screen) asAt() string {
	if s.at == 0 {
		return ""
	}
	return " " + s.host.Theme().Words.Phrase("at revision %d", s.at)
}

// keyRows draws the tree.
func (s *Screen) keyRows() pane.Content {
	look := s.host.Theme()
	w, _ := s.keys.Size()
	c := pane.Content{Title: look.Title(look.Words.Phrase("Keys")), Rows: len(s.tree.rows),
		Empty: []string{"", "  " + look.Words.Phrase("Asking etcd ...")}}
	if s.at > 0 {
		c.Title += look.Notice(fmt.Sprintf(" @ %d", s.at))
	}
	columns := columnsFor(w - 5)
	c.Head = []string{look.Dim("   " + columns.line(look.Words.Phrase("key"), look.Words.Phrase("keys"),
		look.Words.Phrase("bytes"), look.Words.Phrase("changed"), "v"))}
	c.Row = func(i int) pane.Row { return s.keyRow(s.tree.rows[i], columns, look) }
	return c
}

// columns holds the widths of the tree's columns.
type columns struct{ name, changed, version int }

func columnsFor(w int) columns {
	c := columns{name: w - 14}
	if w >= 50 { // names are worth more
		c.changed = 8
		c.name -= 9
	}
	if w >= 58 {
		c.version = 5
		c.name -= 6
	}
	c.name = max(c.name, 1)
	return c
}

func (c columns) line(name, keys, bytes, changed, version string) string {
	line := draw.Fit(name, c.name) + " " + draw.FitRight(keys, 5) + " " + draw.FitRight(bytes, 7)
	if c.changed > 0 {
		line += " " + draw.FitRight(changed, c.changed)
	}
	if c.version > 0 {
		line += " " + draw.FitRight(version, c.version)
	}
	return line
}

// countText formats a number in five cells.
func countText(n int64) string {
	switch {
	case n < 100_000:
		return fmt.Sprint(n)
	case n < 10_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%dM", n/1_000_000)
}

func (s *Screen) keyRow(r row, c columns, look theme.Theme) pane.Row {
	n := r.node
	indent := strings.Repeat("  ", max(n.depth, 0))
	switch r.kind {
	case moreRow:
		return pane.Row{Text: strings.Repeat("  ", n.depth+1) + look.Words.Phrase("… there are more: enter reads them"), Style: look.Dim}
	case messageRow:
		indent = strings.Repeat("  ", n.depth+1)
		switch {
		case n.err != "":
			return pane.Row{Mark: "!", Text: indent + n.err, Style: look.Bad}
		case n.loading:
			return pane.Row{Text: indent + "...", Style: look.Dim}
		}
		return pane.Row{Text: indent + look.Words.Phrase("(no keys%s)", s.asAt()), Style: look.Dim}
	}
	st := &n.item.Status
	out := pane.Row{Full: draw.Clean(n.name())}
	bytes := draw.Bytes(st.Bytes)
	name := indent + "  " + draw.Clean(n.name())
	keys, version := "", fmt.Sprint(st.Version)
	if n.directory() {
		mark := "+ "
		if n.open {
			mark = "- "
		}
		name, keys, version = indent+mark+draw.Clean(n.name()), countText(st.Keys), ""
		switch {
		case n.rough:
			bytes = "~" + bytes
		case st.Measured < st.Keys:
			bytes = ">" + bytes
		}
	}
	switch {
	case n.deleted:
		out.Mark, out.Style, bytes = "x", look.Bad, "deleted"
	case n.changed:
		out.Mark, out.Style = "*", look.Notice
	}
	changed := fmt.Sprint(st.ModRevision)
	if st.ModRevision == 0 {
		changed = "-"
	}
	out.Text = c.line(name, keys, bytes, changed, version)
	return out
}

// aboutDirectory describes a directory in place of a key's revisions.
func (s *Screen) aboutDirectory() []string {
	r, ok := s.selectedRow()
	if !ok || r.kind != keyRow {
		return []string{"", "  " + s.host.Theme().Words.Phrase("Choose a key: its revisions are shown here, and its value.")}
	}
	st := &r.node.item.Status
	lines := []string{"", "  " + draw.Clean(r.node.key()),
		"  " + s.host.Theme().Words.Phrase("%s, %d bytes, changed last at revision %d", keysText(st.Keys), st.Bytes, st.ModRevision)}
	if st.Measured < st.Keys {
		lines = append(lines,
			"  "+s.host.Theme().Words.Phrase("Bytes and revision are of the first %d keys: more are not read at once.", st.Measured))
	}
	if r.node.rough {
		lines = append(lines,
			"  "+s.host.Theme().Words.Phrase("The bytes do not count all that changed since: %s reads them again.", keys.Refresh.Key()))
	}
	return append(lines, "", "  "+s.host.Theme().Words.Phrase("enter unfolds it. Choose a key to see its revisions and its value."))
}

func keysText(n int64) string {
	if n == 1 {
		return "1 key"
	}
	return fmt.Sprintf("%d keys", n)
}

// comparison is the last difference, with the values that it was made of.
type comparison struct {
	of      *selection
	a, b    *value
	all     bool
	lines   []diff.Line
	changed int
	err     error
}

// valueRows draws the value.
func (s *Screen) valueRows() pane.Content {
	look := s.host.Theme()
	c := pane.Content{Title: s.tabs(), Text: true}
	r := s.revisionUnder()
	if r == nil {
		return c
	}
	if s.form == formDiff {
		return s.diffRows(c)
	}
	v := s.chosen.values[r.Revision]
	switch {
	case r.Operation == "delete":
		c.Empty = []string{"", "  " + look.Words.Phrase("It was deleted at revision %d.", r.Revision)}
	case v == nil || v.loading:
		c.Empty = []string{"", "  " + look.Words.Phrase("Asking for the value ...")}
	case v.err != "":
		c.Empty = []string{"", look.Bad("  ! " + v.err)}
	default:
		c.Note = fmt.Sprintf("%d  %s", r.Revision, codec(v.key.Status.Value))
		if s.form == formHex {
			return v.hexRows(c)
		}
		lines := v.text(s.form)
		c.Rows = len(lines)
		c.Row = func(i int) pane.Row { return pane.Row{Text: cleanText(lines[i])} }
	}
	return c
}

// cleanText cleans a line of text, and keeps its indentation.
func cleanText(line string) string { return draw.Clean(strings.ReplaceAll(line, "\t", "    ")) }

func (s *Screen) tabs() string {
	look := s.host.Theme()
	var words []string
	for i, name := range forms {
		if form(i) == s.form {
			words = append(words, look.Tab("["+name+"]"))
		} else {
			words = append(words, name)
		}
	}
	return look.Title(look.Words.Phrase("Value")) + "  " + strings.Join(words, " ")
}

// diffRows draws the difference between the value and the one to compare with.
func (s *Screen) diffRows(c pane.Content) pane.Content {
	look, at := s.host.Theme(), s.revisionAt()
	base, ok := s.base()
	before, after := s.chosen.side(base), s.chosen.side(at)
	for _, side := range []*value{before, after} {
		if side != nil && side.loading {
			c.Empty = []string{"", "  " + look.Words.Phrase("Asking for the values ...")}
			return c
		}
		if side != nil && side.err != "" {
			c.Empty = []string{"", look.Bad("  ! " + side.err)}
			return c
		}
	}
	d := s.compare(before, after)
	if d.err != nil {
		c.Empty = []string{"", look.Bad("  ! " + draw.Clean(d.err.Error()))}
		return c
	}
	from := "nothing older"
	if ok {
		from = fmt.Sprint(base)
	}
	c.Note = fmt.Sprintf("%s -> %d  %d changed", from, at, d.changed)
	if d.changed == 0 {
		c.Head = []string{look.Dim(" " + look.Words.Phrase("Both are the same."))}
	}
	if masked(before) || masked(after) {
		c.Head = append(c.Head,
			look.Notice(" "+look.Words.Phrase("A Secret is masked: two of its values of the same length look the same.")))
	}
	c.Rows = len(d.lines)
	c.Row = func(i int) pane.Row {
		l := d.lines[i]
		row := pane.Row{Text: string(l.Mark) + " " + strings.Repeat("  ", l.Depth) + l.Text}
		switch l.Mark {
		case '+':
			row.Style = look.Good
		case '-':
			row.Style = look.Bad
		}
		return row
	}
	return c
}

func masked(v *value) bool { return v != nil && v.key.Status.Value.Masked }

// side returns the value of a revision as one side of a comparison: nil if the key did not exist.
func (c *selection) side(revision int64) *value {
	r := c.revision(revision)
	switch {
	case r == nil || r.Operation == "delete":
		return nil
	case c.values[revision] == nil:
		return &value{loading: true}
	}
	return c.values[revision]
}

// compare makes a comparison, or returns the last one if its inputs are the same.
func (s *Screen) compare(before, after *value) *comparison {
	d := &s.compared
	if d.of == s.chosen && d.a == before && d.b == after && d.all == s.all && (d.lines != nil || d.err != nil) {
		return d
	}
	*d = comparison{of: s.chosen, a: before, b: after, all: s.all}
	d.lines, d.changed, d.err = differences(before, after, s.all)
	return d
}
