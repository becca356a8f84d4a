package etcd

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/pane/rows"
	"github.com/kx-apiserver/kx/tui/screen"
)

// The places where keys are pressed.
var (
	inKeys      = keys.Place("etcd keys")
	inRevisions = keys.Place("etcd revisions")
	inValue     = keys.Place("etcd value")
	inFind      = keys.Line("etcd find")

	panes = []keys.Context{inKeys, inRevisions, inValue}
)

// part is a pane of the screen.
type part int

const (
	keysPart part = iota
	revisionsPart
	valuePart
	parts
)

// Screen is the screen etcd. Its methods are called by one goroutine.
type Screen struct {
	host screen.Host
	life context.Context
	end  context.CancelFunc

	tree       *tree
	head       v1alpha1.EtcdHead
	generation int    // of lists: answers of earlier ones are dropped
	at         int64  // the revision that is looked at; 0 is now
	want       string // the key that the user was led to, as long as it is not there
	chosen     *chosen

	following  bool // as the user wants it
	follower   *follower
	unfollowed string // why it is not followed although it is wanted
	ends       int    // how many watches in a row ended that brought nothing
	seen       bool

	keys, revisions, text rows.Pane
	form                  form
	all                   bool // of differences: what is the same too
	compared              comparison

	w, h    int
	areas   [parts]layout.Rect
	borders layout.Borders
	focus   part
	body    part // which of revisions and value is seen where they share a place
	zoomed  bool
	search  rows.Search
}

var (
	_ screen.Screen   = (*Screen)(nil)
	_ screen.Resizer  = (*Screen)(nil)
	_ screen.Returner = (*Screen)(nil)
)

// New makes the screen. It asks for nothing until it is shown.
func New(host screen.Host) *Screen {
	life, end := context.WithCancel(host.Context())
	return &Screen{host: host, life: life, end: end, tree: newTree(), following: true, body: revisionsPart}
}

// Name implements screen.Screen.
func (s *Screen) Name() screen.Name { return screen.Etcd }

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
		if p == ctx {
			s.goTo(part(i))
			return true
		}
	}
	return false
}

// pane is a part's.
func (s *Screen) pane(p part) *rows.Pane {
	return [parts]*rows.Pane{&s.keys, &s.revisions, &s.text}[p]
}

// content is what a part shows.
func (s *Screen) content(p part) rows.Content {
	switch p {
	case keysPart:
		return s.keyRows()
	case revisionsPart:
		return s.revisionRows()
	}
	return s.valueRows()
}

// Show implements screen.Screen.
func (s *Screen) Show(to screen.Target) tea.Cmd {
	was := s.seen
	s.seen = true
	var cmds []tea.Cmd
	switch {
	case !s.tree.root.loaded:
		cmds = append(cmds, s.read(s.tree.root, false))
	case !was && s.at == 0:
		cmds = append(cmds, s.reread()) // nobody followed meanwhile
	}
	if to, ok := to.(screen.ToKey); ok {
		cmds = append(cmds, s.leadTo(to)) // the way there is by what is read anew
	}
	return tea.Batch(cmds...)
}

// leadTo goes to a key, now, and to one of its revisions.
func (s *Screen) leadTo(to screen.ToKey) tea.Cmd {
	var cmds []tea.Cmd
	if s.at > 0 {
		cmds = append(cmds, s.travel(0))
	}
	s.want = to.Key
	s.search.Close()
	cmds = append(cmds, s.pick(to.Key, v1alpha1.KeyName(to.Key), to.Revision))
	s.goTo(revisionsPart)
	if s.tree.root.loaded {
		cmds = append(cmds, s.lead())
	}
	return tea.Batch(cmds...)
}

// Hide implements screen.Screen.
func (s *Screen) Hide() {
	s.seen = false
	s.unfollow()
}

// Close implements screen.Screen.
func (s *Screen) Close() { s.end() }

// Update implements screen.Screen.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case listed:
		return s.take(msg)
	case told:
		return s.heard(msg)
	case valued:
		s.got(msg)
	case compacted:
		return s.compacted(msg)
	}
	return nil
}

// Drain implements screen.Screen.
func (s *Screen) Drain() tea.Cmd { return s.drain() }

// under is the row under the cursor.
func (s *Screen) under() (r row, ok bool) {
	i := s.keys.Cursor(rows.Content{Rows: len(s.tree.rows)})
	if i < 0 {
		return row{}, false
	}
	return s.tree.rows[i], true
}

// stay puts the cursor back on a row, after the tree has changed.
func (s *Screen) stay(r row, ok bool) {
	if !ok {
		return
	}
	if r.kind != keyRow {
		// What was there instead of keys is where they are now.
		for i, other := range s.tree.rows {
			if other.node.parent == r.node || other.kind == r.kind && other.node == r.node {
				s.keys.SetCursor(i)
				return
			}
		}
		return
	}
	for n := r.node; n != nil; n = n.parent {
		if i := s.tree.position(n.key()); i >= 0 {
			s.keys.SetCursor(i)
			return
		}
	}
}

// choose makes the key under the cursor the chosen one.
func (s *Screen) choose() tea.Cmd {
	r, ok := s.under()
	if !ok || r.kind != keyRow || r.node.directory() {
		s.drop()
		return nil
	}
	return s.pick(r.node.key(), r.node.item.Name, 0)
}

// travel looks at everything as it was at a revision; 0 is now.
func (s *Screen) travel(revision int64) tea.Cmd {
	s.at = revision
	if c := s.chosen; c != nil {
		c.wanted = revision
		s.toWanted()
	}
	return tea.Batch(s.reread(), s.fetch())
}

// goTo gives a part the focus.
func (s *Screen) goTo(p part) {
	s.search.Close()
	s.focus = p
	if p != keysPart {
		s.body = p
	}
	s.layout()
}

// back goes back from what was opened last. It says whether there was anything.
func (s *Screen) back() (tea.Cmd, bool) {
	switch {
	case s.search.Open():
		s.search.Close()
	case s.zoomed:
		s.zoomed = false
		s.layout()
	case s.focus > keysPart:
		s.goTo(s.focus - 1)
	case s.chosen != nil && s.chosen.marked != 0:
		s.chosen.marked = 0
		return s.fetch(), true
	case s.at > 0:
		s.host.Say("back to now")
		return s.travel(0), true
	default:
		return nil, false
	}
	return nil, true
}

// Mouse implements screen.Screen.
func (s *Screen) Mouse(x, y, wheel int) tea.Cmd {
	for p := range parts {
		a := s.areas[p]
		if !a.Has(x, y) {
			continue
		}
		if wheel != 0 {
			return s.turn(p, wheel)
		}
		s.goTo(p)
		if s.pane(p).Click(y-a.Y, s.content(p)) {
			return s.moved(p)
		}
	}
	return nil
}

func (s *Screen) turn(p part, wheel int) tea.Cmd {
	pane.Wheel(wheel, func(id keys.ID) { s.pane(p).Move(id, s.content(p)) })
	return s.moved(p)
}

// moved follows the cursor of a part.
func (s *Screen) moved(p part) tea.Cmd {
	switch p {
	case keysPart:
		return s.choose()
	case revisionsPart:
		s.text.ToTop()
		return s.fetch()
	}
	return nil
}
