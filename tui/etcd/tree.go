package etcd

import (
	"slices"
	"sort"
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// node is a key or a directory. The root is the directory of all.
type node struct {
	item   v1alpha1.Key
	parent *node
	depth  int

	// What follows is of directories.
	open, loading, loaded bool
	children              []*node // in the order of their keys
	next                  string  // how the rest of them is read; empty if there is none
	err                   string  // why they could not be read
	revision              int64   // the one that they are of

	// rough says that Bytes is not exact any more; changed and deleted are what the watch said since the list.
	rough, changed, deleted bool
}

func (n *node) key() string     { return n.item.Spec.Key }
func (n *node) directory() bool { return n.parent == nil || n.item.Spec.Directory }

// name is what is added to the directory that the node is in.
func (n *node) name() string {
	if n.parent == nil {
		return n.key()
	}
	return strings.TrimPrefix(n.key(), n.parent.key())
}

// rowKind is what a row of the tree is.
type rowKind uint8

const (
	keyRow     rowKind = iota
	moreRow            // the rest of a directory, not read yet
	messageRow         // why there is nothing
)

// row is a row of the tree as it is unfolded now. node is the directory that a row which is no key belongs to.
type row struct {
	kind rowKind
	node *node
}

// tree is the keys that were read.
type tree struct {
	root *node
	rows []row
}

func newTree() *tree { return &tree{root: &node{open: true, depth: -1}} }

// flatten makes the rows anew.
func (t *tree) flatten() {
	t.rows = t.rows[:0]
	t.add(t.root)
}

func (t *tree) add(n *node) {
	for _, child := range n.children {
		t.rows = append(t.rows, row{keyRow, child})
		if child.directory() && child.open {
			t.add(child)
		}
	}
	switch {
	case n.err != "" || n.loading && !n.loaded || n.loaded && len(n.children) == 0:
		t.rows = append(t.rows, row{messageRow, n})
	case n.next != "":
		t.rows = append(t.rows, row{moreRow, n})
	}
}

// position is the row of a key, or else -1.
func (t *tree) position(key string) int {
	return slices.IndexFunc(t.rows, func(r row) bool { return r.kind == keyRow && r.node.key() == key })
}

// toward is the child of a directory that is a key, or that it is below; nil if there is none.
func (n *node) toward(key string) *node {
	i := sort.Search(len(n.children), func(i int) bool { return n.children[i].key() > key }) - 1
	// What stands right before the place of the key is the key, what it is below, or something else.
	if i >= 0 {
		if c := n.children[i]; c.key() == key || c.directory() && strings.HasPrefix(key, c.key()) {
			return c
		}
	}
	return nil
}

// deepest is the last node on the way to a key that is known.
func (t *tree) deepest(key string) *node {
	n := t.root
	for {
		child := n.toward(key)
		if child == nil {
			return n
		}
		if n = child; !n.directory() {
			return n
		}
	}
}

// fill takes what the server listed of a directory: the next page, or all of it anew. What was unfolded stays so.
func (t *tree) fill(n *node, list *v1alpha1.KeyList, revision int64, more bool) {
	known := map[string]*node{}
	if !more {
		for _, child := range n.children {
			known[child.key()] = child
		}
		n.children = nil
	}
	for _, item := range list.Items {
		child := known[item.Spec.Key]
		if child == nil || child.item.Spec.Directory != item.Spec.Directory {
			child = &node{parent: n, depth: n.depth + 1}
		}
		child.item, child.rough, child.changed, child.deleted = item, false, false, false
		n.children = append(n.children, child)
	}
	// A watch may have brought what a later page has too.
	slices.SortStableFunc(n.children, func(a, b *node) int { return strings.Compare(a.key(), b.key()) })
	n.children = slices.CompactFunc(n.children, func(a, b *node) bool { return a.key() == b.key() })
	n.loading, n.loaded, n.err, n.next, n.revision = false, true, "", list.Continue, revision
}

// forget forgets what is in folded directories, which nobody reads anew: they are read when they are unfolded.
func (n *node) forget() {
	for _, c := range n.children {
		if !c.directory() {
			continue
		}
		if c.open {
			c.forget()
			continue
		}
		c.children, c.next, c.err, c.loading, c.loaded = nil, "", "", false, false
	}
}

// unfolded are the directories whose children are seen, from the root on.
func (t *tree) unfolded() []*node {
	out := []*node{t.root}
	for _, r := range t.rows {
		if r.kind == keyRow && r.node.directory() && r.node.open {
			out = append(out, r.node)
		}
	}
	return out
}

// change takes what the watch says of a key. It says whether anything that is known changed.
func (t *tree) change(kind string, item v1alpha1.Key) bool {
	key, s := item.Spec.Key, &item.Status
	way := []*node{} // the directories above the key, but the root
	n := t.root
	for {
		child := n.toward(key)
		if child == nil || child.key() == key && !child.directory() {
			break
		}
		n = child
		way = append(way, n)
	}
	if !n.loaded {
		count(way, kind, s, nil)
		return len(way) > 0
	}
	if s.ModRevision <= n.revision {
		return false
	}
	leaf := n.toward(key)
	count(way, kind, s, leaf)
	if leaf == nil {
		if kind == "DELETED" || n.next != "" && (len(n.children) == 0 || key > n.children[len(n.children)-1].key()) {
			return true // it was not there, or is of a page that was not read
		}
		leaf = t.insert(n, item)
	}
	leaf.changed, leaf.deleted = true, kind == "DELETED"
	if leaf.directory() {
		return true // one that began to be: insert counted it
	}
	if leaf.deleted {
		leaf.item.Status.ModRevision = s.ModRevision
		return true
	}
	leaf.item = item
	return true
}

// insert makes the node of a key that came to be in a directory, or that of the directory in it that did.
func (t *tree) insert(n *node, item v1alpha1.Key) *node {
	made := &node{parent: n, depth: n.depth + 1, item: item}
	rest := strings.TrimPrefix(item.Spec.Key, n.key())
	if slash := strings.IndexByte(rest[min(1, len(rest)):], '/'); slash >= 0 {
		dir := n.key() + rest[:slash+2]
		made.item.Name = v1alpha1.KeyName(dir)
		made.item.Spec.Key, made.item.Spec.Directory, made.item.Spec.Name = dir, true, ""
	}
	i := sort.Search(len(n.children), func(i int) bool { return n.children[i].key() > made.key() })
	n.children = slices.Insert(n.children, i, made)
	return made
}

// count brings what directories say of what is below them up to date. leaf is the key as it was known, or nil.
func count(way []*node, kind string, s *v1alpha1.KeyStatus, leaf *node) {
	for _, dir := range way {
		d := &dir.item.Status
		if s.ModRevision <= dir.parent.revision {
			continue // it is counted
		}
		d.ModRevision = max(d.ModRevision, s.ModRevision)
		dir.changed = true
		known := leaf != nil && !leaf.directory() && !leaf.deleted
		switch kind {
		case "ADDED":
			d.Keys, d.Measured, d.Bytes = d.Keys+1, d.Measured+1, d.Bytes+s.Bytes
		case "DELETED":
			d.Keys, d.Measured = d.Keys-1, d.Measured-1
			if known {
				d.Bytes -= leaf.item.Status.Bytes
			}
			dir.rough = dir.rough || !known
		default:
			if known {
				d.Bytes += s.Bytes - leaf.item.Status.Bytes
			}
			dir.rough = dir.rough || !known
		}
	}
}
