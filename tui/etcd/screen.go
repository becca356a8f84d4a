package etcd

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
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

// The panes.
const (
	keysPart = iota
	revisionsPart
	valuePart
	parts
)

// Screen is the screen etcd. Its methods are called by one goroutine.
type Screen struct {
	screen.Split
	host screen.Host
	life context.Context
	end  context.CancelFunc

	tree       *tree
	head       v1alpha1.EtcdHead
	generation int    // of lists: answers of earlier ones are dropped
	at         int64  // the revision that is looked at; 0 is now
	want       string // the key that the user was led to, as long as it is not there
	chosen     *selection

	following  bool // as the user wants it
	follower   *follower
	unfollowed string // why it is not followed although it is wanted
	ends       int    // the number of watches in a row that ended without an event
	seen       bool

	keys, revisions, text *pane.Rows
	form                  form
	all                   bool // differences include unchanged fields
	compared              comparison
}

var (
	_ screen.Screen  = (*Screen)(nil)
	_ screen.Retrier = (*Screen)(nil)
)

// New makes the screen. It sends no request until it is shown.
func New(host screen.Host) *Screen {
	life, end := context.WithCancel(host.Context())
	s := &Screen{host: host, life: life, end: end, tree: newTree(), following: true}
	s.keys = pane.NewRows(host.Theme, s.keyRows)
	s.revisions = pane.NewRows(host.Theme, s.revisionRows)
	s.text = pane.NewRows(host.Theme, s.valueRows)
	s.Split = screen.NewSplit(host, screen.Plan{
		Panes: []screen.Place{{Context: inKeys, Pane: s.keys}, {Context: inRevisions, Pane: s.revisions},
			{Context: inValue, Pane: s.text}},
		Arrange: s.arrange, Head: s.headLine, HeadLines: 1, Line: s.FindLine(inFind, nil), Moved: s.followCursor,
	})
	return s
}

func (s *Screen) Name() screen.Name { return screen.Etcd }

func (s *Screen) Show(to screen.Target) tea.Cmd {
	was := s.seen
	s.seen = true
	var cmds []tea.Cmd
	switch {
	case !s.tree.root.loaded:
		cmds = append(cmds, s.read(s.tree.root, false))
	case !was && s.at == 0:
		cmds = append(cmds, s.reread()) // no watch followed in the meantime
	}
	if to, ok := to.(screen.ToKey); ok {
		cmds = append(cmds, s.leadTo(to)) // leadTo uses the new answers
	}
	return tea.Batch(cmds...)
}

// leadTo goes to a key in the present, and to one of its revisions.
func (s *Screen) leadTo(to screen.ToKey) tea.Cmd {
	var cmds []tea.Cmd
	if s.at > 0 {
		cmds = append(cmds, s.travel(0))
	}
	s.want = to.Key
	cmds = append(cmds, s.pick(to.Key, v1alpha1.KeyName(to.Key), to.Revision))
	s.GoTo(revisionsPart)
	if s.tree.root.loaded {
		cmds = append(cmds, s.lead())
	}
	return tea.Batch(cmds...)
}

func (s *Screen) Hide() {
	s.seen = false
	s.unfollow()
}

func (s *Screen) Close() { s.end() }

func (s *Screen) Drain() tea.Cmd { return s.drain() }

// selectedRow returns the row under the cursor.
func (s *Screen) selectedRow() (r row, ok bool) {
	i := s.keys.Cursor()
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
		// The row may have been a placeholder: its place is where keys are now.
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

// choose chooses the key under the cursor.
func (s *Screen) choose() tea.Cmd {
	r, ok := s.selectedRow()
	if !ok || r.kind != keyRow || r.node.directory() {
		s.drop()
		return nil
	}
	return s.pick(r.node.key(), r.node.item.Name, 0)
}

// travel shows everything as of a revision; 0 is the present.
func (s *Screen) travel(revision int64) tea.Cmd {
	s.at = revision
	if c := s.chosen; c != nil {
		c.wanted = revision
		s.seekWanted()
	}
	return tea.Batch(s.reread(), s.fetch())
}

// followCursor follows the cursor of a pane.
func (s *Screen) followCursor(pane int) tea.Cmd {
	switch pane {
	case keysPart:
		return s.choose()
	case revisionsPart:
		s.text.ToTop()
		return s.fetch()
	}
	return nil
}
