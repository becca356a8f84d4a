package structure

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
)

func (s *Screen) Commands() []keys.Command {
	return keys.RunAfter([]keys.Command{
		{ID: "structure.filter", Meaning: keys.Narrow, Contexts: panes, Hint: "filter", Do: keys.Call(s.OpenLine),
			Help: "Type words that a part must have in its name, its kind, its verbs or its code."},
		{ID: "structure.source", Meaning: keys.Code, Contexts: panes, Hint: "source", WhyNot: s.noSource, Do: s.toSource,
			Help: "Show the code of the function or type under the cursor, as it runs."},
		{ID: "structure.requests", Meaning: keys.ToRequests, Contexts: panes, Hint: "requests", WhyNot: s.noRequests, Do: s.toRequests,
			Help: "Show the requests that passed the part under the cursor, on the screen Capture."},
		{ID: "structure.cache", Meaning: keys.ToCache, Contexts: panes, Hint: "cache", WhyNot: s.noCache, Do: s.toCache,
			Help: "Show the watch cache of the resource, on the screen Cache."},
		{ID: "structure.keys", Meaning: keys.ToEtcd, Contexts: panes, Hint: "etcd", WhyNot: s.noKeys, Do: s.toKeys,
			Help: "Show where the objects of the resource are stored, on the screen etcd."},
		{ID: "structure.send", Meaning: keys.Send, Contexts: panes, Hint: "send", WhyNot: s.noSend, Do: s.toSend,
			Help: "Put a request to the resource on the screen Send: of the route under the cursor, or else a list. There the same key " +
				"sends it."},
		{ID: "structure.refresh", Meaning: keys.Refresh, Contexts: panes, Do: s.load,
			Help: "Fetch the structure again: definitions come and go, and caches fill."},
		{ID: "structure.filter-apply", Meaning: keys.Accept, Contexts: []keys.Context{inFilter}, Hint: "done", Do: keys.Call(s.CloseLine),
			Help: "Leave the line. The filter stays."},
	}, s.sync)
}

func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	if cmd, ok := s.Split.Handle(id); ok {
		return cmd, true
	}
	cmd, ok := s.handle(id)
	return tea.Batch(cmd, s.sync()), ok
}

func (s *Screen) handle(id keys.ID) (tea.Cmd, bool) {
	switch id {
	case keys.Back:
		return nil, s.back()
	case keys.Open:
		return s.enter(), true
	case keys.Up, keys.Down:
		return s.list.Handle(id) // while the filter is typed
	case keys.Left, keys.Right:
		return nil, s.moveSideways(id)
	case keys.Copy:
		return s.copy(), true
	}
	return nil, false
}

// moveSideways folds, unfolds, or moves to the other pane. It reports whether there was anything to do.
func (s *Screen) moveSideways(id keys.ID) bool {
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

// enter opens the row under the cursor: a heading, the sheet of a part, or the link of a line.
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

// back removes the filter. It reports whether there was one.
func (s *Screen) back() bool {
	if s.tree.filter == "" {
		return false
	}
	under := s.selectedName()
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

// filter returns the present filter for editing.
func (s *Screen) filter() string {
	s.GoTo(treePane)
	return s.tree.filter
}

// applyFilter applies the typed filter. Drain fetches the part under the cursor.
func (s *Screen) applyFilter() {
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
	under := s.selectedName()
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

// resource returns the resource under the cursor, or that of the definition there; nil if there is none.
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

func (s *Screen) toSource() tea.Cmd { return s.host.Go(sourceAt(*s.placeOf())) }

func (s *Screen) toRequests() tea.Cmd {
	return s.host.Go(screen.ToRequests{Filter: requestsOf(s.node().part)})
}

func (s *Screen) toCache() tea.Cmd {
	return s.host.Go(screen.ToCache{Resource: s.resource().Cache.Name})
}

func (s *Screen) toKeys() tea.Cmd { return s.host.Go(screen.ToKey{Key: s.resource().Key}) }

// toSend leads to a request of the route under the cursor, or else to a list of the resource.
func (s *Screen) toSend() tea.Cmd {
	if l := s.line(); s.At() == detailPane && l != nil {
		if to, ok := l.target.(screen.ToSend); ok {
			return s.host.Go(to)
		}
	}
	r := s.resource()
	uri := rootOf(r)
	if r.Namespaced {
		uri += "namespaces/default/"
	}
	return s.host.Go(screen.ToSend{Method: "GET", URI: uri + r.Resource})
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
