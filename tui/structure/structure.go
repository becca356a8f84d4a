package structure

import (
	"context"
	"fmt"
	"maps"
	"net/url"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/screen"
)

const path = api.KX + "/structure"

// The contexts of the screen.
var (
	inTree   = keys.Place("structure")
	inDetail = keys.Place("structure part")
	inFilter = keys.Line("structure filter")

	panes = []keys.Context{inTree, inDetail}
)

// Screen is the screen Structure. Its methods are called by one goroutine.
type Screen struct {
	screen.Split
	host screen.Host

	tree         *tree
	list, detail *pane.Rows

	loaded  bool
	loading uint64 // counts the fetches of all parts: only the answer to the latest is taken
	failed  string
	want    *screen.ToStructure // where the user was led, as long as the parts are not there

	whole    map[string]*v1alpha1.Structure // the parts that were fetched whole, by name
	fresh    map[string]bool                // those fetched since the last list of all parts
	fetching string
	cancel   context.CancelFunc

	shown shownSheet
}

// shownSheet caches the contents of the right pane, with their inputs.
type shownSheet struct {
	node  *node
	whole *v1alpha1.Structure
	w     int
	lines []line
}

var (
	_ screen.Screen  = (*Screen)(nil)
	_ screen.Retrier = (*Screen)(nil)
)

// New makes the screen. It sends no request until it is shown.
func New(host screen.Host) *Screen {
	s := &Screen{host: host, tree: newTree(), whole: map[string]*v1alpha1.Structure{}, fresh: map[string]bool{}, cancel: func() {}}
	s.list, s.detail = pane.NewRows(host.Theme, s.content), pane.NewRows(host.Theme, s.sheet)
	s.Split = screen.NewSplit(host, screen.Plan{
		Panes: []screen.Place{{Context: inTree, Pane: s.list}, {Context: inDetail, Pane: s.detail}}, Arrange: s.arrange,
		Head: s.filterLine, HeadLines: 1, Moved: func(int) tea.Cmd { return s.sync() },
		Line: &screen.Line{Context: inFilter, Begin: s.filter, Changed: s.applyFilter, Left: s.unfilter},
	})
	return s
}

// The panes.
const (
	treePane = iota
	detailPane
)

func (s *Screen) Name() screen.Name { return screen.Structure }

func (s *Screen) Show(to screen.Target) tea.Cmd {
	if to, ok := to.(screen.ToStructure); ok && to != (screen.ToStructure{}) {
		s.want = &to
		if s.loaded {
			s.lead()
		}
	}
	return s.load()
}

// Drain implements screen.Screen. The typed filter may have moved the cursor to another part.
func (s *Screen) Drain() tea.Cmd { return s.sync() }

func (s *Screen) Close() { s.cancel() }

// Retry implements screen.Returner: the server may have other parts by now.
func (s *Screen) Retry() tea.Cmd {
	if s.loading == 0 {
		return nil // the screen was never shown
	}
	return s.load()
}

// load fetches all parts in brief. Only the answer to the latest request is taken.
func (s *Screen) load() tea.Cmd {
	s.loading++
	request := s.loading
	return screen.Get(s.host.Context(), s.host, path, nil, func(list *v1alpha1.StructureList, err error) tea.Cmd {
		switch {
		case request != s.loading:
			return nil
		case err != nil:
			s.failed = screen.Trouble(err)
			return nil
		}
		s.take(list.Items)
		return s.sync()
	})
}

// take shows the parts. The cursor stays on its part, if that still exists. A part that was fetched whole stays in
// view until it is fetched again.
func (s *Screen) take(parts []v1alpha1.Structure) {
	under := s.selectedName()
	s.loaded, s.failed = true, ""
	clear(s.fresh)
	s.cancel()
	s.fetching = ""
	s.tree.load(parts)
	maps.DeleteFunc(s.whole, func(name string, _ *v1alpha1.Structure) bool { return s.tree.byID[name] == nil })
	s.stay(under)
	s.lead()
}

// stay puts the cursor on a node, if it is visible.
func (s *Screen) stay(id string) {
	if i := s.tree.index(id); i >= 0 {
		s.list.SetCursor(i)
	}
}

// lead moves the cursor to the target.
func (s *Screen) lead() {
	if s.want == nil {
		return
	}
	to := *s.want
	s.want = nil
	id := s.tree.resource(to.Group, to.Resource)
	if to.Resource == "" {
		id = groupID + to.Group
	}
	if !s.tree.reveal(id) {
		name := to.Resource
		if to.Group != "" {
			name += "." + to.Group
		}
		s.host.Complain(s.host.Theme().Words.Phrase("the server has no resource %s", draw.Clean(name)))
		return
	}
	s.GoTo(treePane)
	s.stay(id)
}

// turnTo moves to a node of the tree, from the sheet of another.
func (s *Screen) turnTo(id string) {
	if s.tree.reveal(id) {
		s.GoTo(treePane)
		s.stay(id)
	}
}

// node returns the node under the cursor, or nil.
func (s *Screen) node() *node {
	if i := s.list.Cursor(); i >= 0 {
		return s.tree.rows[i]
	}
	return nil
}

// selectedName returns the name of the node under the cursor.
func (s *Screen) selectedName() string {
	if n := s.node(); n != nil {
		return n.id
	}
	return ""
}

// sync fetches the fields that lists omit for the part under the cursor.
func (s *Screen) sync() tea.Cmd {
	n := s.node()
	if n == nil || n.part == nil || n.part.Spec.Resource == nil || s.fresh[n.id] || s.fetching == n.id {
		return nil
	}
	s.cancel()
	ctx, cancel := context.WithCancel(s.host.Context())
	s.cancel, s.fetching = cancel, n.id
	request, name := s.loading, n.id
	return screen.Get(ctx, s.host, path+"/"+url.PathEscape(name), nil, func(part *v1alpha1.Structure, err error) tea.Cmd {
		if s.fetching == name {
			s.fetching = ""
		}
		if err == nil && part.Spec.Part != v1alpha1.PartResource {
			err = fmt.Errorf("the server answered with no resource for %s", name)
		}
		switch {
		case request != s.loading:
			return s.sync()
		case err == nil:
			s.whole[name], s.fresh[name], s.failed = part, true, ""
		case s.selectedName() == name:
			s.failed = screen.Trouble(err)
		}
		return nil
	})
}
