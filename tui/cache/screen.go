package cache

import (
	"context"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/pane/rows"
	"github.com/kx-apiserver/kx/tui/screen"
)

// The places where keys are pressed.
var (
	inCaches   = keys.Place("caches")
	inWatchers = keys.Place("cache watchers")
	inResult   = keys.Place("cache result")
	inFind     = keys.Line("cache find")

	panes = []keys.Context{inCaches, inWatchers, inResult}
)

// part is a pane of the screen.
type part int

const (
	cachesPart part = iota
	watchersPart
	resultPart
	parts
)

// Screen is the screen Cache. Its methods are called by one goroutine.
type Screen struct {
	host   screen.Host
	life   context.Context
	end    context.CancelFunc
	poller *poller // while the screen is seen

	caches []v1alpha1.Cache
	heard  bool            // the server has answered
	one    *v1alpha1.Cache // the chosen one, with its watches
	want   string          // its name
	led    bool            // the user was led to it, and it was not there yet
	wrong  string          // why the server did not answer

	stream  *stream // the user's watch
	watched seen    // what it had brought when it was looked at
	report  *report // or what came of a question

	list, watchers, result rows.Pane

	w, h    int
	areas   [parts]layout.Rect
	borders layout.Borders
	focus   part
	zoomed  bool
	search  rows.Search
}

var (
	_ screen.Screen  = (*Screen)(nil)
	_ screen.Resizer = (*Screen)(nil)
)

// New makes the screen. It asks for nothing until it is shown.
func New(host screen.Host) *Screen {
	life, end := context.WithCancel(host.Context())
	return &Screen{host: host, life: life, end: end}
}

// Name implements screen.Screen.
func (s *Screen) Name() screen.Name { return screen.Cache }

// Contexts implements screen.Screen.
func (s *Screen) Contexts() []keys.Context { return append(append([]keys.Context{}, panes...), inFind) }

// Context implements screen.Screen.
func (s *Screen) Context() keys.Context {
	if s.search.Open() {
		return inFind
	}
	return panes[s.focus]
}

// Focus implements screen.Screen.
func (s *Screen) Focus(ctx keys.Context) bool {
	if ctx == inFind {
		s.find()
		return true
	}
	for i, p := range panes {
		if p == ctx && s.has(part(i)) {
			s.goTo(part(i))
			return true
		}
	}
	return false
}

// has says whether a part has anything to show.
func (s *Screen) has(p part) bool { return p != resultPart || s.stream != nil || s.report != nil }

func (s *Screen) pane(p part) *rows.Pane {
	return [parts]*rows.Pane{&s.list, &s.watchers, &s.result}[p]
}

func (s *Screen) content(p part) rows.Content {
	switch p {
	case cachesPart:
		return s.listRows()
	case watchersPart:
		return s.watcherRows()
	}
	return s.resultRows()
}

// Show implements screen.Screen.
func (s *Screen) Show(to screen.Target) tea.Cmd {
	if to, ok := to.(screen.ToCache); ok {
		s.search.Close()
		s.choose(to.Resource)
		s.led = true
		s.goTo(watchersPart)
		s.place()
	}
	if s.poller == nil {
		s.poller = startPoller(s.life, s.host, s.want)
	}
	return nil
}

// Hide implements screen.Screen.
func (s *Screen) Hide() {
	if s.poller != nil {
		s.poller.cancel()
	}
	s.poller = nil
}

// Close implements screen.Screen.
func (s *Screen) Close() { s.end() }

// Update implements screen.Screen.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case reported:
		if msg.of == s.report {
			s.report.pending, s.report.lines, s.report.err = false, msg.lines, msg.err
		}
	case dropped:
		s.dropped(msg)
	}
	return nil
}

// Drain implements screen.Screen.
func (s *Screen) Drain() tea.Cmd {
	if s.stream != nil {
		end := s.result.AtEnd(s.resultRows())
		s.watched = s.stream.seen()
		if end {
			s.result.Move(keys.Bottom, s.resultRows())
		}
	}
	if s.poller == nil {
		return nil
	}
	a := s.poller.take()
	if a == nil {
		return nil
	}
	s.wrong = ""
	if a.err != nil {
		s.wrong = screen.Trouble(a.err)
		return nil
	}
	s.caches, s.heard = a.caches, true
	if s.want == "" && len(s.caches) > 0 {
		s.want = s.caches[0].Name
		s.poller.choose(s.want)
	}
	if a.one != nil && a.one.Name == s.want {
		s.one = a.one
	}
	s.place()
	return nil
}

// place puts the cursor on the chosen cache.
func (s *Screen) place() {
	i := slices.IndexFunc(s.caches, func(c v1alpha1.Cache) bool { return c.Name == s.want })
	switch {
	case i >= 0:
		s.list.SetCursor(i)
		s.led = false
	case !s.heard || len(s.caches) == 0:
	case s.led:
		s.led = false
		s.host.Complain("there is no watch cache of " + draw.Clean(s.want) + ": events have none, nor what --watch-cache-sizes takes it from")
		s.choose(s.caches[min(max(s.list.Cursor(s.listRows()), 0), len(s.caches)-1)].Name)
	default: // its resource is no longer served
		s.choose(s.caches[min(max(s.list.Cursor(s.listRows()), 0), len(s.caches)-1)].Name)
	}
}

// choose makes a cache the chosen one.
func (s *Screen) choose(name string) {
	if s.want != name {
		s.one = nil
		s.watchers.ToTop()
	}
	s.want = name
	if s.poller != nil {
		s.poller.choose(name)
	}
}

// goTo gives a part the focus.
func (s *Screen) goTo(p part) {
	s.search.Close()
	s.focus = p
	s.layout()
}

// reveal makes the result seen.
func (s *Screen) reveal() { s.goTo(resultPart) }

// stopStream ends the user's watch.
func (s *Screen) stopStream() {
	if s.stream != nil {
		s.stream.cancel()
	}
	s.stream, s.watched = nil, seen{}
}

// back goes back from what was opened last. It says whether there was anything.
func (s *Screen) back() bool {
	switch {
	case s.search.Open():
		s.search.Close()
	case s.zoomed:
		s.zoomed = false
		s.layout()
	case s.focus == resultPart:
		s.stopStream()
		s.report = nil
		s.goTo(watchersPart)
	case s.focus > cachesPart:
		s.goTo(s.focus - 1)
	default:
		return false
	}
	return true
}

// Mouse implements screen.Screen.
func (s *Screen) Mouse(x, y, wheel int) tea.Cmd {
	for p := range parts {
		a := s.areas[p]
		if !a.Has(x, y) {
			continue
		}
		if wheel != 0 {
			s.turn(p, wheel)
			return nil
		}
		s.goTo(p)
		if s.pane(p).Click(y-a.Y, s.content(p)) {
			s.moved(p)
		}
	}
	return nil
}

func (s *Screen) turn(p part, wheel int) {
	pane.Wheel(wheel, func(id keys.ID) { s.pane(p).Move(id, s.content(p)) })
	s.moved(p)
}

// moved follows the cursor of a part.
func (s *Screen) moved(p part) {
	if i := s.list.Cursor(s.listRows()); p == cachesPart && i >= 0 {
		s.choose(s.caches[i].Name)
	}
}

const (
	// low is the height below which only what has the focus is seen.
	low = 16
	// leastHigh is what a border that the user moves leaves on both sides.
	leastHigh = 4
)

// arrange says where the parts are: one below the other. The result has a place only if there is one.
func arrange(w, h int, focus part, zoomed, result bool, borders layout.Borders) (areas [parts]layout.Rect) {
	if zoomed || h < low {
		areas[focus] = layout.At(0, 0, w, h)
		return areas
	}
	list, below := h*2/5, leastHigh
	if result {
		list, below = max(h*3/10, 6), 2*leastHigh
	}
	list = layout.Split(h, list, borders.Down, leastHigh, below)
	watchers := h - list
	if result {
		watchers = layout.Split(h-list, min(max(watchers/2, 8), h-list-leastHigh), borders.Lower, leastHigh, leastHigh)
	}
	areas[cachesPart] = layout.At(0, 0, w, list)
	areas[watchersPart] = layout.At(0, list, w, watchers)
	if result {
		areas[resultPart] = layout.At(0, list+watchers, w, h-list-watchers)
	}
	return areas
}

// SetSize implements screen.Screen.
func (s *Screen) SetSize(w, h int) {
	s.w, s.h = w, h
	s.layout()
}

// Borders implements screen.Resizer.
func (s *Screen) Borders() *layout.Borders { return &s.borders }

// Place implements screen.Resizer.
func (s *Screen) Place() layout.Rect {
	s.layout()
	return s.areas[s.focus]
}

func (s *Screen) layout() {
	s.areas = arrange(s.w, s.h, s.focus, s.zoomed, s.has(resultPart), s.borders)
	for p := range parts {
		s.pane(p).SetSize(s.areas[p].W, s.areas[p].H)
	}
}
