package list

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/session"
	"github.com/kx-apiserver/kx/tui/theme"
)

// Pane is the list.
type Pane struct {
	ring *session.Ring
	look func() theme.Theme
	zone *time.Location
	// empty is the text of an empty list.
	empty []string

	w, h     int
	scroll   pane.Scroll
	selected string
	follow   bool
	newest   string // the last row when following stopped
	// need holds the widths for all rows drawn so far: columns do not shrink when a long row is gone.
	need columns

	frame pane.Frame[frameOf]
}

// frameOf identifies a frame.
type frameOf struct {
	theme             theme.Name
	w, h, cursor, top int
	version           uint64
	focused, follow   bool
}

// New makes a list of the rows of ring, which follows the newest.
func New(ring *session.Ring, look func() theme.Theme, zone *time.Location) *Pane {
	return &Pane{ring: ring, look: look, zone: zone, follow: true, need: least}
}

// SetEmpty sets the text of an empty list.
func (p *Pane) SetEmpty(lines []string) {
	p.empty = lines
	p.frame = pane.Frame[frameOf]{}
}

func (p *Pane) SetSize(w, h int) {
	if w != p.w || h != p.h {
		p.w, p.h = w, h
		p.Sync()
	}
}

// Following reports whether the cursor follows the newest row.
func (p *Pane) Following() bool { return p.follow }

// Newer returns the number of rows that came since following stopped.
func (p *Pane) Newer() int {
	if i := p.ring.Index(p.newest); i >= 0 && !p.follow {
		return p.ring.Len() - 1 - i
	}
	return 0
}

// Hold stops following, so that the row under the cursor stays.
func (p *Pane) Hold() {
	if n := p.ring.Len(); p.follow && n > 0 {
		p.newest = p.ring.At(n - 1).Name
	}
	p.follow = false
}

// Selected returns the row under the cursor, or nil.
func (p *Pane) Selected() *session.Row {
	if p.ring.Len() == 0 {
		return nil
	}
	return p.ring.At(p.scroll.Cursor)
}

// rows returns the number of rows that fit.
func (p *Pane) rows() int { return max(p.h-3, 1) }

// Sync puts the cursor back on its journey after the ring changed. While following, it moves to the newest row,
// unless its own journey is held: the user is still working on a held request.
func (p *Pane) Sync() {
	n := p.ring.Len()
	switch i := p.ring.Index(p.selected); {
	case p.follow && (i < 0 || len(p.ring.At(i).Status.Held) == 0):
		p.scroll.Cursor = n - 1
	case i >= 0:
		p.scroll.Top += i - p.scroll.Cursor // rows before it came or went: it stays where it is on the screen
		p.scroll.Cursor = i
	}
	p.updateSelection()
}

// updateSelection updates the selection after the cursor moved.
func (p *Pane) updateSelection() {
	p.scroll.Clamp(p.ring.Len(), p.rows())
	p.selected = ""
	if row := p.Selected(); row != nil {
		p.selected = row.Name
		p.ring.Keep(row.Name)
	}
}

// Handle implements pane.Pane. A motion stops following.
func (p *Pane) Handle(id keys.ID) (tea.Cmd, bool) {
	if !p.scroll.Move(id, p.ring.Len(), p.rows()) {
		return nil, false
	}
	p.Hold()
	p.updateSelection()
	return nil, true
}

// Follow keeps the cursor on the newest request.
func (p *Pane) Follow() {
	p.follow = true
	p.Sync()
}

// ToggleFollow starts or stops following the newest request.
func (p *Pane) ToggleFollow() {
	if p.follow {
		p.Hold()
	} else {
		p.follow = true
	}
	p.Sync()
}

func (p *Pane) Render(focused bool) []string {
	of := frameOf{
		theme: p.look().Name, w: p.w, h: p.h, cursor: p.scroll.Cursor, top: p.scroll.Top, version: p.ring.Version,
		focused: focused, follow: p.follow,
	}
	return p.frame.Draw(of, func() []string { return p.render(focused) })
}

func (p *Pane) render(focused bool) []string {
	note, n, look := "", p.ring.Len(), p.look()
	lines := p.empty
	if n > 0 {
		note = look.Words.Phrase("%d of %d", p.scroll.Cursor+1, n)
		lines = p.lines(focused)
	}
	return look.Box(lines, look.Title(look.Words.Phrase("Capture")), note, p.w, p.h, focused)
}

func (p *Pane) lines(focused bool) []string {
	last := min(p.scroll.Top+p.rows(), p.ring.Len())
	seen := least
	for i := p.scroll.Top; i < last; i++ {
		row := p.cells(p.ring.At(i))
		seen.widen(row)
		p.need.widen(row)
	}
	c := columnsFor(p.w-2, p.need)
	if c.cuts(p.need) { // not for the sake of rows that are not seen
		need := p.need
		need.resource, need.object, need.whole = seen.resource, seen.object, seen.whole
		c = columnsFor(p.w-2, need)
	}
	say := p.look().Words.Phrase
	lines := []string{p.look().Dim(c.line("", cells{
		id: "#", time: say("time"), verb: say("verb"), resource: say("resource"), object: say("ns/name"),
		code: say("code"), took: say("took"), rev: say("rev"), try: say("try"),
		steps: say("steps"), user: say("user"),
	}))}
	for i := p.scroll.Top; i < last; i++ {
		lines = append(lines, p.row(c, i, focused))
	}
	return lines
}

func (p *Pane) row(c columns, i int, focused bool) string {
	row := p.ring.At(i)
	marks, style := []rune("     "), theme.Style(nil)
	if i == p.scroll.Cursor {
		marks[0] = '>'
	}
	switch {
	case HasFailed(row.Journey):
		marks[1], style = '!', p.look().Bad
	case row.Status.Phase == v1alpha1.JourneyHeld:
		marks[1], style = '=', p.look().Notice
	case row.Status.Phase == v1alpha1.JourneyRunning:
		marks[1], style = '~', p.look().Notice
	}
	if len(row.Status.Touched) > 0 {
		marks[2] = '*'
	}
	if letter := p.ring.MarkOf(row.Name); letter != 0 {
		marks[3] = letter
	}
	line := draw.Fit(c.line(string(marks), p.cells(row)), p.w-2)
	switch {
	case i == p.scroll.Cursor && focused:
		return p.look().Selected(line)
	case style != nil:
		return style(line)
	case row.Gone:
		return p.look().Dim(line)
	}
	return line
}

// HasFailed reports whether a request got an error or no answer, or was a watch that ended with an error.
func HasFailed(j *v1alpha1.Journey) bool {
	return j.Status.Code >= 400 || j.Status.WatchError != 0 ||
		j.Status.Phase == v1alpha1.JourneyComplete && j.Status.Code == 0 && !j.IsInstall()
}

func (p *Pane) cells(row *session.Row) cells {
	s := &row.Spec
	c := cells{
		id: row.Name, time: row.Status.Started.In(p.zone).Format(time.TimeOnly), verb: s.Verb, resource: Resource(s), object: object(s),
		code: "...", took: p.look().Words.Phrase("took::open"), user: s.User,
	}
	if c.verb == "" {
		c.verb = s.Method
	}
	if row.Status.Code != 0 {
		c.code = fmt.Sprint(row.Status.Code)
	} else if row.Status.Phase == v1alpha1.JourneyComplete {
		c.code = "-"
	}
	if row.Status.Phase == v1alpha1.JourneyComplete {
		c.took = draw.Duration(time.Duration(row.Status.TookMicros) * time.Microsecond)
	}
	if row.Status.Phase == v1alpha1.JourneyHeld {
		c.took = p.look().Words.Phrase("held")
	}
	c.rev, c.try, c.steps = count(row.Status.Revision), count(int64(row.Status.Tries)),
		count(int64(max(int(row.Status.StepCount), len(row.Status.Steps))))
	if row.Gone {
		c.took = p.look().Words.Phrase("gone")
	}
	if code := row.Status.WatchError; code != 0 { // the answer had begun with 200
		c.object = strings.TrimSpace(fmt.Sprintf("%s ERROR %d", c.object, code))
	}
	return c
}

// count formats a number; 0 is a dash.
func count(n int64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}
