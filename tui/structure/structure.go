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
	"github.com/kx-apiserver/kx/tui/pane/rows"
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
	list, detail *rows.Pane

	loaded  bool
	loading uint64 // counts the fetches of all parts: only the answer to the latest is taken
	failed  string
	want    *screen.ToStructure // where the user was led, as long as the parts are not there

	whole    map[string]*v1alpha1.Structure // the parts that were fetched whole
	fresh    map[string]bool                // those of them that were fetched since all parts were
	fetching string
	cancel   context.CancelFunc

	shown sheetOfNode
}

// sheetOfNode is what the right pane shows, and of what it was made.
type sheetOfNode struct {
	node  *node
	whole *v1alpha1.Structure
	w     int
	lines []line
}

var (
	_ screen.Screen   = (*Screen)(nil)
	_ screen.Returner = (*Screen)(nil)
)

// New makes the screen. It asks the server once it is shown.
func New(host screen.Host) *Screen {
	s := &Screen{host: host, tree: newTree(), whole: map[string]*v1alpha1.Structure{}, fresh: map[string]bool{}, cancel: func() {}}
	s.list, s.detail = rows.New(host.Theme, s.content), rows.New(host.Theme, s.sheet)
	s.Split = screen.NewSplit(host, screen.Plan{
		Panes: []screen.Place{{Context: inTree, Pane: s.list}, {Context: inDetail, Pane: s.detail}}, Arrange: s.arrange,
		Head: s.filterLine, HeadLines: 1, Moved: func(int) tea.Cmd { return s.sync() },
		Line: &screen.Line{Context: inFilter, Begin: s.filter, Changed: s.filtered, Left: s.unfilter},
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

// Drain implements screen.Screen. What is typed may have led to another part.
func (s *Screen) Drain() tea.Cmd { return s.sync() }

func (s *Screen) Close() { s.cancel() }

// Returned implements screen.Returner: it may be another server by now.
func (s *Screen) Returned() tea.Cmd {
	if s.loading == 0 {
		return nil // nobody has looked yet
	}
	return s.load()
}

// loadedMsg is the answer to a fetch of all parts.
type loadedMsg struct {
	request uint64
	list    v1alpha1.StructureList
	err     error
}

// wholeMsg is the answer to a fetch of one part.
type wholeMsg struct {
	request uint64 // of all parts, to which this one belongs
	name    string
	part    *v1alpha1.Structure
	err     error
}

// load fetches all parts in brief.
func (s *Screen) load() tea.Cmd {
	s.loading++
	request, client, ctx := s.loading, s.host.API(), s.host.Context()
	return s.host.Do(func() tea.Msg {
		msg := loadedMsg{request: request}
		msg.err = client.Get(ctx, path, nil, &msg.list)
		return msg
	})
}

func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case loadedMsg:
		if msg.request != s.loading {
			return nil
		}
		if msg.err != nil {
			s.failed = screen.Trouble(msg.err)
			return nil
		}
		s.take(msg.list.Items)
		return s.sync()
	case wholeMsg:
		if s.fetching == msg.name {
			s.fetching = ""
		}
		switch {
		case msg.request != s.loading:
			return s.sync()
		case msg.err != nil:
			if s.chosen() == msg.name {
				s.failed = screen.Trouble(msg.err)
			}
		default:
			s.whole[msg.name], s.fresh[msg.name], s.failed = msg.part, true, ""
		}
	}
	return nil
}

// take shows the parts. The cursor stays on its part, if that is still there; what was fetched whole of a part is shown until
// it is fetched again.
func (s *Screen) take(parts []v1alpha1.Structure) {
	under := s.chosen()
	s.loaded, s.failed = true, ""
	clear(s.fresh)
	s.cancel()
	s.fetching = ""
	s.tree.load(parts)
	maps.DeleteFunc(s.whole, func(name string, _ *v1alpha1.Structure) bool { return s.tree.byID[name] == nil })
	s.stay(under)
	s.lead()
}

// stay puts the cursor on a node, if it is seen.
func (s *Screen) stay(id string) {
	if i := s.tree.index(id); i >= 0 {
		s.list.SetCursor(i)
	}
}

// lead brings the cursor to where the user was led.
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
		s.host.Complain("the server has no resource " + draw.Clean(name))
		return
	}
	s.GoTo(treePane)
	s.stay(id)
}

// turnTo goes to a node of the tree, from what is known of another.
func (s *Screen) turnTo(id string) {
	if s.tree.reveal(id) {
		s.GoTo(treePane)
		s.stay(id)
	}
}

// node is what the cursor is on, or nil.
func (s *Screen) node() *node {
	if i := s.list.Cursor(); i >= 0 {
		return s.tree.rows[i]
	}
	return nil
}

// chosen is the name of the node under the cursor.
func (s *Screen) chosen() string {
	if n := s.node(); n != nil {
		return n.id
	}
	return ""
}

// sync fetches what lists leave out of the part under the cursor.
func (s *Screen) sync() tea.Cmd {
	n := s.node()
	if n == nil || n.part == nil || n.part.Spec.Resource == nil || s.fresh[n.id] || s.fetching == n.id {
		return nil
	}
	s.cancel()
	ctx, cancel := context.WithCancel(s.host.Context())
	s.cancel, s.fetching = cancel, n.id
	request, name, client := s.loading, n.id, s.host.API()
	return s.host.Do(func() tea.Msg {
		part := &v1alpha1.Structure{}
		err := client.Get(ctx, path+"/"+url.PathEscape(name), nil, part)
		if err == nil && part.Spec.Part != v1alpha1.PartResource {
			err = fmt.Errorf("the server answered with no resource for %s", name)
		}
		return wholeMsg{request: request, name: name, part: part, err: err}
	})
}
