package structure

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/keys"
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

// Handle does a command of the screen.
func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	if cmd, ok := s.Split.Handle(id); ok {
		return cmd, true
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
	case keys.Up, keys.Down:
		return s.list.Handle(id) // while the filter is typed
	case keys.Left, keys.Right:
		return nil, s.sideways(id)
	case keys.Copy:
		return s.copy(), true
	case filterID:
		s.OpenLine()
	case applyID:
		s.CloseLine()
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

// sideways folds, unfolds, or goes to the other pane. It reports whether there was anything to do.
func (s *Screen) sideways(id keys.ID) bool {
	n := s.node()
	switch {
	case s.At() == detailPane && id == keys.Left:
		s.GoTo(treePane)
	case s.At() == detailPane || n == nil:
		return false
	case id == keys.Right && len(n.children) > 0:
		s.fold(n, true)
	case id == keys.Right:
		s.GoTo(detailPane)
	case s.tree.open[n.id] && s.tree.filter == "" && len(n.children) > 0:
		s.fold(n, false)
	case n.parent != nil:
		s.stay(n.parent.id)
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
	if s.At() == treePane {
		if n := s.node(); n != nil && n.part == nil && s.tree.filter == "" {
			s.fold(n, !s.tree.open[n.id])
		} else if n != nil {
			s.GoTo(detailPane)
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

// back takes the filter off. It reports whether there was one.
func (s *Screen) back() bool {
	if s.tree.filter == "" {
		return false
	}
	under := s.chosen()
	s.find("")
	if s.tree.reveal(under) {
		s.stay(under)
	}
	return true
}

func (s *Screen) copy() tea.Cmd {
	if s.At() == detailPane {
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

// filter is the filter, to be typed anew.
func (s *Screen) filter() string {
	s.GoTo(treePane)
	return s.tree.filter
}

// filtered shows what the typed filter finds. Drain fetches the part that it led to.
func (s *Screen) filtered() {
	s.find(s.Line().String())
	s.host.Changed()
}

// unfilter shows all parts.
func (s *Screen) unfilter() tea.Cmd {
	s.find("")
	return s.sync()
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
	if s.At() == detailPane {
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
