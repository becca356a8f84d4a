package structure

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/prompt"
	"github.com/kx-apiserver/kx/tui/screen"
)

// The commands of the screen.
const (
	filterID   keys.ID = "structure.filter"
	applyID    keys.ID = "structure.filter-apply"
	foldID     keys.ID = "structure.fold"
	sourceID   keys.ID = "structure.source"
	requestsID keys.ID = "structure.requests"
	cacheID    keys.ID = "structure.cache"
	keysID     keys.ID = "structure.keys"
	sendID     keys.ID = "structure.send"
	refreshID  keys.ID = "structure.refresh"
)

// Commands implements screen.Screen.
func (s *Screen) Commands() []keys.Command {
	return []keys.Command{
		{ID: filterID, Title: "filter the parts", Help: "Type words that a part must have: of its name, its kind, its verbs, its code.", Hint: "filter",
			Contexts: panes, Keys: []string{"/"}},
		{ID: foldID, Title: "fold, or unfold", Help: "Fold what is under the cursor, or unfold it.",
			Contexts: []keys.Context{inTree}, Keys: []string{" "}, Enabled: s.noFold},
		{ID: sourceID, Title: "show the source", Help: "The code of the function or type under the cursor, as it runs.", Hint: "source",
			Contexts: panes, Keys: []string{"v"}, Enabled: s.noSource},
		{ID: requestsID, Title: "show the requests that went through", Help: "The requests that passed the part under the cursor, on the screen Capture.", Hint: "requests",
			Contexts: panes, Keys: []string{"t"}, Enabled: s.noRequests},
		{ID: cacheID, Title: "show the cache of the resource", Help: "The watch cache of the resource, on the screen Cache.", Hint: "cache",
			Contexts: panes, Keys: []string{"c"}, Enabled: s.noCache},
		{ID: keysID, Title: "show the resource's keys", Help: "Where the objects of the resource are in etcd, on the screen etcd.", Hint: "keys",
			Contexts: panes, Keys: []string{"e"}, Enabled: s.noKeys},
		{ID: sendID, Title: "send a request to the resource", Help: "Make a request to the resource on the screen Send: of the route under the cursor, or else a list.", Hint: "send",
			Contexts: panes, Keys: []string{"s"}, Enabled: s.noSend},
		{ID: refreshID, Title: "ask the server again", Help: "Fetch the structure again: definitions come and go, and caches fill.",
			Contexts: panes, Keys: []string{"r"}},
		{ID: applyID, Title: "go to what was found", Help: "Leave the line. What the filter wants stays.", Hint: "done",
			Contexts: []keys.Context{inFilter}, Keys: []string{"enter"}},
	}
}

// Handle implements screen.Screen.
func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	if s.filtering {
		ok := s.editFilter(id)
		return s.sync(), ok
	}
	if s.move(s.focus, id) {
		return s.sync(), true
	}
	cmd, ok := s.do(id)
	return tea.Batch(cmd, s.sync()), ok
}

func (s *Screen) do(id keys.ID) (tea.Cmd, bool) {
	switch id {
	case keys.Back:
		return nil, s.back()
	case keys.Open:
		return s.enter(), true
	case keys.NextPane, keys.PreviousPane:
		s.other()
	case keys.Zoom:
		s.zoomed = !s.zoomed
	case keys.Copy:
		return s.copy(), true
	case filterID:
		s.edit()
	case foldID:
		s.fold(s.node(), !s.tree.open[s.chosen()])
	case refreshID:
		return s.load(), true
	case sourceID:
		return s.host.Go(toSource(*s.placeOf())), true
	case requestsID, cacheID, keysID, sendID:
		return s.host.Go(s.target(id)), true
	default:
		return nil, false
	}
	return nil, true
}

// move does a motion in a pane. It says whether id is one.
func (s *Screen) move(ctx keys.Context, id keys.ID) bool {
	if ctx == inDetail {
		if id == keys.Left {
			s.focus = inTree
			return true
		}
		return s.detail.Move(id, s.sheet(s.host.Theme()))
	}
	n := s.node()
	switch {
	case id == keys.Left && n != nil:
		if s.tree.open[n.id] && s.tree.filter == "" && len(n.children) > 0 {
			s.fold(n, false)
		} else if n.parent != nil {
			s.stay(n.parent.id)
		}
	case id == keys.Right && n != nil:
		if len(n.children) > 0 {
			s.fold(n, true)
		} else {
			s.focus = inDetail
		}
	default:
		return s.list.Move(id, s.content())
	}
	return true
}

// fold folds or unfolds a heading. The cursor stays on it.
func (s *Screen) fold(n *node, open bool) {
	s.tree.open[n.id] = open
	s.tree.flatten()
	s.stay(n.id)
}

// enter opens what is under the cursor: a heading, what is known of a part, or where a line leads.
func (s *Screen) enter() tea.Cmd {
	if s.focus == inTree {
		if n := s.node(); n != nil && n.part == nil && s.tree.filter == "" {
			s.fold(n, !s.tree.open[n.id])
		} else if n != nil {
			s.focus = inDetail
		}
		return nil
	}
	l := s.line()
	switch {
	case l == nil || !l.leads():
		s.host.Say("this line leads nowhere; those with a · do")
	case l.part != "":
		s.turnTo(l.part)
	default:
		return s.host.Go(l.target)
	}
	return nil
}

func (s *Screen) other() {
	if s.focus == inTree {
		s.focus = inDetail
	} else {
		s.focus = inTree
	}
}

// back closes what was opened last. It says whether there was anything.
func (s *Screen) back() bool {
	switch {
	case s.zoomed:
		s.zoomed = false
	case s.focus == inDetail:
		s.focus = inTree
	case s.tree.filter != "":
		under := s.chosen()
		s.find("")
		if s.tree.reveal(under) {
			s.stay(under)
		}
	default:
		return false
	}
	return true
}

func (s *Screen) copy() tea.Cmd {
	if s.focus == inDetail {
		if l := s.line(); l != nil {
			if l.place != nil {
				return s.host.Copy(fmt.Sprintf("%s:%d", l.place.File, l.place.Line))
			}
			return s.host.Copy(l.text)
		}
	}
	if n := s.node(); n != nil {
		return s.host.Copy(n.id)
	}
	return nil
}

// edit begins to type the filter.
func (s *Screen) edit() {
	s.filtering, s.focus = true, inTree
	s.typing.Set(s.tree.filter)
}

// Type implements screen.Screen.
func (s *Screen) Type(text []rune) {
	if !s.filtering {
		return
	}
	if !s.typing.Insert(text) {
		s.host.Complain(fmt.Sprintf("a filter has at most %d bytes", prompt.MaxBytes))
		return
	}
	s.find(s.typing.String())
	s.host.Changed() // the part that it led to is fetched in Drain
}

// editFilter does a command of the line that the filter is typed into. It says whether id is one.
func (s *Screen) editFilter(id keys.ID) bool {
	switch id {
	case keys.Back:
		s.filtering = false
		s.find("")
	case applyID:
		s.filtering = false
	case keys.Down, keys.Up:
		return s.list.Move(id, s.content())
	default:
		if !s.typing.Handle(id) {
			return false
		}
		s.find(s.typing.String())
	}
	return true
}

// find shows the parts that have all of the words, and puts the cursor on the first of them.
func (s *Screen) find(filter string) {
	under := s.chosen()
	s.tree.filter = filter
	s.tree.flatten()
	if i := s.tree.index(under); i >= 0 && s.tree.rows[i].part != nil {
		s.list.SetCursor(i)
		return
	}
	s.list.ToTop()
	for i, n := range s.tree.rows {
		if n.part != nil && filter != "" {
			s.list.SetCursor(i)
			return
		}
	}
}

// resource is the resource under the cursor, or that of the definition under it; nil if there is none.
func (s *Screen) resource() *v1alpha1.StructureResource {
	n := s.node()
	if n == nil || n.part == nil {
		return nil
	}
	if d := n.part.Spec.Definition; d != nil {
		n = s.tree.byID[s.tree.resource(d.Group, d.Resource)]
	}
	if n == nil {
		return nil
	}
	return n.part.Spec.Resource
}

// target is where a command leads to. It is asked only if the command is enabled.
func (s *Screen) target(id keys.ID) screen.Target {
	switch id {
	case requestsID:
		return screen.ToRequests{Filter: requestsOf(s.node().part)}
	case cacheID:
		return screen.ToCache{Resource: s.resource().Cache.Name}
	case keysID:
		return screen.ToKey{Key: s.resource().Key}
	}
	if s.focus == inDetail {
		if l := s.line(); l != nil {
			if to, ok := l.target.(screen.ToSend); ok {
				return to
			}
		}
	}
	r := s.resource()
	uri := rootOf(r)
	if r.Namespaced {
		uri += "namespaces/default/"
	}
	return screen.ToSend{Method: "GET", URI: uri + r.Resource}
}

func (s *Screen) noFold() string {
	if n := s.node(); n == nil || len(n.children) == 0 || s.tree.filter != "" {
		return "there is nothing to fold"
	}
	return ""
}

func (s *Screen) noSource() string {
	if s.placeOf() == nil {
		return "there is no source of this"
	}
	return ""
}

func (s *Screen) noRequests() string {
	if n := s.node(); n == nil || n.part == nil || requestsOf(n.part) == "" {
		return "no filter says which requests went through this"
	}
	return ""
}

func (s *Screen) noCache() string {
	switch r := s.resource(); {
	case r == nil:
		return "this is no resource that is served"
	case r.Cache == nil:
		return "the resource has no cache"
	}
	return ""
}

func (s *Screen) noKeys() string {
	switch r := s.resource(); {
	case r == nil:
		return "this is no resource that is served"
	case r.Key == "":
		return "nothing of it is in etcd"
	}
	return ""
}

func (s *Screen) noSend() string {
	if s.resource() == nil {
		return "this is no resource that is served"
	}
	return ""
}
