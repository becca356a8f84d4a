package cache

import (
	"context"
	"slices"

	tea "github.com/charmbracelet/bubbletea"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane"
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

// The panes.
const (
	cachesPart = iota
	watchersPart
	resultPart
)

// Screen is the screen Cache. Its methods are called by one goroutine.
type Screen struct {
	screen.Split
	host   screen.Host
	life   context.Context
	end    context.CancelFunc
	poller *poller // while the screen is in view

	caches metav1.Table    // the server's, with a row for each
	heard  bool            // the server has answered
	one    *v1alpha1.Cache // the chosen one, with its watches
	want   string          // its name
	led    bool            // a target named it, and no list was searched for it yet
	wrong  string          // why the server did not answer

	stream  *stream  // the user's watch
	watched progress // its events at the last Drain
	report  *report  // or the result of a question; one of the two at most

	list, watchers, result *pane.Rows
}

var _ screen.Screen = (*Screen)(nil)

// New makes the screen. It sends no request until it is shown.
func New(host screen.Host) *Screen {
	life, end := context.WithCancel(host.Context())
	s := &Screen{host: host, life: life, end: end}
	s.list = pane.NewRows(host.Theme, s.listRows)
	s.watchers = pane.NewRows(host.Theme, s.watcherRows)
	s.result = pane.NewRows(host.Theme, s.resultRows)
	s.Split = screen.NewSplit(host, screen.Plan{
		Panes: []screen.Place{{Context: inCaches, Pane: s.list}, {Context: inWatchers, Pane: s.watchers},
			{Context: inResult, Pane: s.result}},
		Arrange: s.arrange,
		Line:    s.FindLine(inFind, func() { s.followCursor(s.At()) }),
		Absent:  func(pane int) bool { return pane == resultPart && !s.hasResult() },
		Moved:   s.followCursor,
	})
	return s
}

func (s *Screen) Name() screen.Name { return screen.Cache }

// hasResult reports whether there is an answer or a watch to show.
func (s *Screen) hasResult() bool { return s.stream != nil || s.report != nil }

func (s *Screen) Show(to screen.Target) tea.Cmd {
	if to, ok := to.(screen.ToCache); ok {
		s.choose(to.Resource)
		s.led = true
		s.GoTo(watchersPart)
		s.place()
	}
	if s.poller == nil {
		s.poller = startPoller(s.life, s.host, s.want)
	}
	return nil
}

func (s *Screen) Hide() {
	if s.poller != nil {
		s.poller.cancel()
	}
	s.poller = nil
}

func (s *Screen) Close() { s.end() }

func (s *Screen) Drain() tea.Cmd {
	if s.stream != nil {
		end := s.result.AtEnd()
		s.watched = s.stream.progress()
		if end {
			s.result.Handle(keys.Bottom)
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
	s.caches, s.heard = *a.caches, true
	s.usedFirst()
	if s.want == "" && len(s.caches.Rows) > 0 {
		s.want = nameIn(s.caches.Rows[0])
		s.poller.choose(s.want)
	}
	if a.one != nil && a.one.Name == s.want {
		s.one = a.one
	}
	s.place()
	return nil
}

// unused reports whether no request has needed the cache of a row yet.
func (s *Screen) unused(row metav1.TableRow) bool {
	i := s.stateColumn()
	return i >= 0 && row.Cells[i] == string(v1alpha1.CacheUninitialized)
}

// stateColumn returns the index of the column State; -1 if the server has none.
func (s *Screen) stateColumn() int {
	return slices.IndexFunc(s.caches.ColumnDefinitions, func(c metav1.TableColumnDefinition) bool { return c.Name == "State" })
}

// usedFirst sorts the unused caches last.
func (s *Screen) usedFirst() {
	rank := func(row metav1.TableRow) int {
		if s.unused(row) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(s.caches.Rows, func(a, b metav1.TableRow) int { return rank(a) - rank(b) })
}

// place puts the cursor on the chosen cache. If the server does not have it, the one under the cursor is chosen.
func (s *Screen) place() {
	i := slices.IndexFunc(s.caches.Rows, func(row metav1.TableRow) bool { return nameIn(row) == s.want })
	switch {
	case i >= 0:
		s.list.SetCursor(i)
	case !s.heard || len(s.caches.Rows) == 0:
		return // no cache can be chosen yet
	default: // without a target, its resource is no longer served
		if s.led {
			s.host.Complain(s.host.Theme().Words.Phrase(
				"there is no watch cache of %s: events have none, nor what --watch-cache-sizes takes it from", draw.Clean(s.want)))
		}
		s.choose(nameIn(s.caches.Rows[s.list.Cursor()]))
	}
	s.led = false
}

// choose makes a cache the chosen one, and has its watches polled.
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

// stopStream stops the user's watch.
func (s *Screen) stopStream() {
	if s.stream != nil {
		s.stream.cancel()
	}
	s.stream, s.watched = nil, progress{}
}

// followCursor chooses the cache under the cursor, if that is the pane in which it moved.
func (s *Screen) followCursor(pane int) tea.Cmd {
	if i := s.list.Cursor(); pane == cachesPart && i >= 0 {
		s.choose(nameIn(s.caches.Rows[i]))
	}
	return nil
}

const (
	// low is the height below which only the pane with the focus is in view.
	low = 16
	// leastHigh is the least height on both sides of a border that the user moves.
	leastHigh = 4
)

// arrange places the panes one below the other. The pane of the result is only there with a result.
func (s *Screen) arrange(w, h int) []layout.Rect {
	if h < low {
		return nil
	}
	result, borders := s.hasResult(), s.Borders()
	list, below := h*2/5, leastHigh
	if result {
		list, below = max(h*3/10, 6), 2*leastHigh
	}
	list = layout.Border(h, list, borders.Down, leastHigh, below)
	watchers := h - list
	if result {
		watchers = layout.Border(h-list, min(max(watchers/2, 8), h-list-leastHigh), borders.Lower, leastHigh, leastHigh)
	}
	areas := []layout.Rect{layout.NewRect(0, 0, w, list), layout.NewRect(0, list, w, watchers)}
	if result {
		areas = append(areas, layout.NewRect(0, list+watchers, w, h-list-watchers))
	}
	return areas
}
