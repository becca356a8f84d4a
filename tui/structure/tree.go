package structure

import (
	"fmt"
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
)

// node is a row of the tree: a part, or a heading above parts.
type node struct {
	id    string // a part's name, or a heading's own
	label string
	note  string
	part  *v1alpha1.Structure // nil for headings
	group string              // the group of a heading of resources

	parent   *node
	children []*node
	depth    int
	words    string // the text that filters match, in lower case
}

// The headings. Those of groups begin with groupID.
const (
	filtersID     = "filters"
	serversID     = "servers"
	resourcesID   = "resources"
	definitionsID = "definitions"
	controllersID = "controllers"
	groupID       = "group "
)

// tree holds all parts, and the visible rows.
type tree struct {
	roots  []*node
	byID   map[string]*node
	first  map[[2]string]string // by group and resource, the part of the first version that the server has it in
	open   map[string]bool
	filter string
	rows   []*node // the visible nodes
	found  int     // the number of parts that match the filter
}

func newTree() *tree {
	return &tree{byID: map[string]*node{}, open: map[string]bool{serversID: true, resourcesID: true, definitionsID: true}}
}

// load takes the server's parts. Unfolded headings stay unfolded.
func (t *tree) load(parts []v1alpha1.Structure) {
	t.roots, t.byID, t.first = nil, map[string]*node{}, map[[2]string]string{}
	for _, root := range []node{
		{id: filtersID, label: "filters", note: "what each request passes, in order"},
		{id: serversID, label: "servers", note: "who is asked, one after the other"},
		{id: resourcesID, label: "resources", note: "by group and version"},
		{id: definitionsID, label: "definitions", note: "of custom resources"},
		{id: controllersID, label: "controllers", note: "what the server does by itself"},
	} {
		t.add(nil, root)
	}
	versions := map[string]map[string]bool{}
	for i := range parts {
		if r := parts[i].Spec.Resource; r != nil {
			if versions[r.Group] == nil {
				versions[r.Group] = map[string]bool{}
			}
			versions[r.Group][r.Version] = true
		}
	}
	for i := range parts {
		t.addPart(&parts[i], versions)
	}
	for _, root := range t.roots {
		root.label = fmt.Sprintf("%s (%d)", root.label, leaves(root))
	}
	t.flatten()
}

func (t *tree) add(parent *node, n node) *node {
	n.parent = parent
	if parent == nil {
		t.roots = append(t.roots, &n)
	} else {
		n.depth = parent.depth + 1
		parent.children = append(parent.children, &n)
	}
	n.label, n.note = draw.Clean(n.label), draw.Clean(n.note)
	n.words = strings.ToLower(n.label + " " + n.note + " " + n.words)
	t.byID[n.id] = &n
	return &n
}

// addPart adds a part below its heading.
func (t *tree) addPart(part *v1alpha1.Structure, versions map[string]map[string]bool) {
	s := &part.Spec
	n := node{id: part.Name, note: s.Title, part: part, words: s.Source.Name + " " + part.Name}
	switch {
	case s.Filter != nil:
		n.label = fmt.Sprintf("%2d %s", s.Filter.Position, strings.TrimPrefix(part.Name, "filter:"))
		t.add(t.byID[filtersID], n)
	case s.Server != nil:
		n.label = fmt.Sprintf("%d %s", s.Server.Position, strings.TrimPrefix(part.Name, "server:"))
		t.add(t.byID[serversID], n)
	case s.Resource != nil:
		r := s.Resource
		n.label, n.note = r.Resource, r.Kind
		if at := [2]string{r.Group, r.Resource}; t.first[at] == "" {
			t.first[at] = part.Name
		}
		n.words += " " + strings.Join(r.ShortNames, " ") + " " + strings.Join(r.Verbs, " ") + " " + strings.Join(r.Subresources, " ")
		t.add(t.versionHeading(r.Group, r.Version, len(versions[r.Group]) > 1), n)
	case s.Definition != nil:
		n.label = strings.TrimPrefix(part.Name, "definition:")
		t.add(t.byID[definitionsID], n)
	case s.Controller != nil:
		n.label = strings.TrimPrefix(part.Name, "controller:")
		t.add(t.byID[controllersID], n)
	}
}

// versionHeading returns the heading of a group and version, and makes it if needed. A group of one version has one
// heading.
func (t *tree) versionHeading(group, version string, several bool) *node {
	name := group
	if group == "" {
		name = "core"
	}
	top := groupID + group
	if t.byID[top] == nil {
		label := name
		if !several {
			label += "/" + version
		}
		t.add(t.byID[resourcesID], node{id: top, label: label, group: group})
	}
	if !several {
		return t.byID[top]
	}
	id := top + "/" + version
	if t.byID[id] == nil {
		t.add(t.byID[top], node{id: id, label: name + "/" + version, group: group})
	}
	return t.byID[id]
}

// leaves counts the parts below a heading.
func leaves(n *node) int {
	if n.part != nil {
		return 1
	}
	all := 0
	for _, c := range n.children {
		all += leaves(c)
	}
	return all
}

// flatten lists the visible rows: unfolded nodes, or in a filtered tree the matching parts with their headings.
func (t *tree) flatten() {
	t.rows, t.found = nil, 0
	words := strings.Fields(strings.ToLower(t.filter))
	for _, root := range t.roots {
		if len(words) == 0 {
			t.unfolded(root)
		} else {
			t.matching(root, words)
		}
	}
}

func (t *tree) unfolded(n *node) {
	t.rows = append(t.rows, n)
	if t.open[n.id] {
		for _, c := range n.children {
			t.unfolded(c)
		}
	}
}

// matching adds the parts below n that have all the words.
func (t *tree) matching(n *node, words []string) {
	if n.part != nil {
		for _, w := range words {
			if !strings.Contains(n.words, w) {
				return
			}
		}
		t.found++
		t.rows = append(t.rows, n)
		return
	}
	before := len(t.rows)
	t.rows = append(t.rows, n)
	for _, c := range n.children {
		t.matching(c, words)
	}
	if len(t.rows) == before+1 {
		t.rows = t.rows[:before]
	}
}

// index returns the row of a node; -1 if it is not visible.
func (t *tree) index(id string) int {
	for i, n := range t.rows {
		if n.id == id {
			return i
		}
	}
	return -1
}

// reveal unfolds the headings above a node, and removes a filter that hides it. It reports whether there is such a
// node.
func (t *tree) reveal(id string) bool {
	n := t.byID[id]
	if n == nil {
		return false
	}
	for up := n.parent; up != nil; up = up.parent {
		t.open[up.id] = true
	}
	t.flatten()
	if t.index(id) < 0 {
		t.filter = ""
		t.flatten()
	}
	return true
}

// resource returns the part of a resource, in the server's first version of it; empty if there is none.
func (t *tree) resource(group, resource string) string { return t.first[[2]string{group, resource}] }
