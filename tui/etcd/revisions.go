package etcd

import (
	"fmt"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/pane"
)

// at returns the revision in the i-th row: the newest is the first.
func (c *selection) at(i int) *v1alpha1.KeyRevision {
	if n := len(c.history.Revisions); i >= 0 && i < n {
		return &c.history.Revisions[n-1-i]
	}
	return nil
}

// revisionAt returns the revision under the cursor, 0 if there is none.
func (s *Screen) revisionAt() int64 {
	if r := s.revisionUnder(); r != nil {
		return r.Revision
	}
	return 0
}

func (s *Screen) revisionUnder() *v1alpha1.KeyRevision {
	if s.chosen == nil || !s.chosen.known {
		return nil
	}
	return s.chosen.at(s.revisions.Cursor())
}

// seekWanted puts the cursor on the wanted revision, or else on the one that was current at that time.
func (s *Screen) seekWanted() {
	c := s.chosen
	if !c.known {
		return
	}
	n := len(c.history.Revisions)
	i := 0
	if c.wanted > 0 {
		for i < n-1 && c.at(i).Revision > c.wanted {
			i++
		}
	}
	s.revisions.SetCursor(i)
	c.wanted = 0
}

// base returns the revision to compare the one under the cursor with: the marked one, or the one before.
func (s *Screen) base() (revision int64, ok bool) {
	c := s.chosen
	at := s.revisionAt()
	if c.marked != 0 && c.marked != at && c.revision(c.marked) != nil {
		return c.marked, true
	}
	before := c.at(s.revisions.Cursor() + 1)
	if before == nil {
		return 0, false
	}
	return before.Revision, true
}

// writerOf names the writer of a revision: the request, if it is known, and the field managers.
func writerOf(r *v1alpha1.KeyRevision) string {
	var words []string
	if r.Journey != "" {
		words = append(words, "#"+r.Journey)
	}
	for _, a := range r.Authors {
		name := a.Manager
		if a.Subresource != "" {
			name += "/" + a.Subresource
		}
		words = append(words, name)
	}
	if len(words) == 0 {
		return "-"
	}
	return draw.Clean(strings.Join(words, " "))
}

// revisionRows draws the revisions.
func (s *Screen) revisionRows() pane.Content {
	look := s.host.Theme()
	c := pane.Content{Title: look.Title(look.Words.Phrase("Revisions"))}
	switch {
	case s.chosen == nil:
		c.Empty = s.aboutDirectory()
		return c
	case s.chosen.err != "":
		c.Empty = []string{"", look.Bad("  ! " + s.chosen.err)}
	case !s.chosen.known:
		c.Empty = []string{"", "  " + look.Words.Phrase("Asking for the history ...")}
	}
	h := &s.chosen.history
	c.Title = look.Title(look.Words.Phrase("Revisions")) + " " + draw.Clean(s.chosen.key)
	if !s.chosen.known {
		return c
	}
	w, _ := s.revisions.Size()
	columns := revisionColumnsFor(w - 5)
	c.Head = []string{look.Dim("   " + columns.line(revisionCells{"mod", "create", "ver", "op", "by",
		look.Words.Phrase("bytes"), look.Words.Phrase("written")}))}
	c.Rows = len(h.Revisions)
	c.Row = func(i int) pane.Row { return s.revisionRow(i, columns) }
	var foot []string
	if h.Cut > 0 {
		foot = append(foot, look.Notice("  "+look.Words.Phrase("%d older ones are left out: there are too many", h.Cut)))
	}
	if h.Etcd.Compacted > 0 {
		foot = append(foot, look.Dim("  "+look.Words.Phrase("etcd's history begins at %d: it was compacted", h.Etcd.Compacted)))
	}
	c.Foot = func(int) []string { return foot }
	return c
}

// revisionColumns holds the widths of the revisions' columns; 0 hides a column.
type revisionColumns struct{ create, version, by, written int }

func revisionColumnsFor(w int) revisionColumns {
	c := revisionColumns{by: w - 27}
	if w >= 60 {
		c.create, c.version = 8, 4
		c.by -= 14
	}
	if w >= 80 {
		c.written = len(time.TimeOnly)
		c.by -= c.written + 2
	}
	c.by = max(c.by, 1)
	return c
}

// revisionCells are the texts of one line of the revisions.
type revisionCells struct{ mod, create, version, op, by, bytes, written string }

func (c revisionColumns) line(cells revisionCells) string {
	line := draw.FitRight(cells.mod, 8) + " "
	if c.create > 0 {
		line += draw.FitRight(cells.create, c.create) + " " + draw.FitRight(cells.version, c.version) + " "
	}
	line += " " + draw.Fit(cells.op, 6) + "  " + draw.Fit(cells.by, c.by) + " " + draw.FitRight(cells.bytes, 7)
	if c.written > 0 {
		line += "  " + draw.Fit(cells.written, c.written)
	}
	return line
}

func (s *Screen) revisionRow(i int, columns revisionColumns) pane.Row {
	look, r := s.host.Theme(), s.chosen.at(i)
	number := func(n int64) string {
		if n == 0 {
			return "-"
		}
		return fmt.Sprint(n)
	}
	written := "-"
	if r.Time != nil {
		written = r.Time.In(s.host.Zone()).Format(time.TimeOnly)
	}
	bytes := fmt.Sprint(r.Bytes)
	if r.Operation == "delete" {
		bytes = "-"
	}
	who := writerOf(r)
	switch {
	case r.Error != "":
		who += "  " + draw.Clean(r.Error)
	case s.at > 0 && r.Revision > s.at:
		who = "(later) " + who
	}
	row := pane.Row{Full: fmt.Sprint(r.Revision, " ", r.Operation, " ", who), Text: columns.line(revisionCells{
		fmt.Sprint(r.Revision), number(r.CreateRevision), number(r.Version), draw.Clean(r.Operation), who, bytes, written})}
	switch {
	case r.Revision == s.chosen.marked:
		row.Mark, row.Style = "m", look.Notice
	case r.Error != "":
		row.Mark, row.Style = "!", look.Bad
	case s.at > 0 && r.Revision > s.at:
		row.Style = look.Dim
	}
	return row
}

// micros formats microseconds as a duration.
func micros(n int64) string { return draw.Duration(time.Duration(n) * time.Microsecond) }
