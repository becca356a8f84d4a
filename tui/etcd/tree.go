package etcd

import (
	"slices"
	"sort"
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// node is a key or a directory. The root is the directory of all keys.
type node struct {
	item   v1alpha1.Key
	parent *node
	depth  int

	// The fields below are for directories.
	open, loading, loaded bool
	children              []*node // in the order of their keys
	next                  string  // the token for the next page; empty if there is none
	err                   string  // why they could not be read
	revision              int64   // the one that they are of

	// rough reports that Bytes is no longer exact; changed and deleted come from the watch since the list.
	rough, changed, deleted bool
}

func (n *node) key() string     { return n.item.Spec.Key }
func (n *node) directory() bool { return n.parent == nil || n.item.Spec.Directory }

// name returns the part of the key after the directory that holds it.
func (n *node) name() string {
	if n.parent == nil {
		return n.key()
	}
	return strings.TrimPrefix(n.key(), n.parent.key())
}

// rowKind is the type of a row in the tree.
type rowKind uint8

const (
	keyRow     rowKind = iota
	moreRow            // the rest of a directory, not read yet
	messageRow         // why there is nothing
)

// row is a visible row of the tree. A row that is no key has the directory that it belongs to as its node.
type row struct {
	kind rowKind
	node *node
}

// tree holds the keys read so far.
type tree struct {
	root *node
	rows []row
}

func newTree() *tree { return &tree{root: &node{open: true, depth: -1}} }

// flatten lists the visible rows anew.
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

// position returns the row of a key, or -1.
func (t *tree) position(key string) int {
	return slices.IndexFunc(t.rows, func(r row) bool { return r.kind == keyRow && r.node.key() == key })
}

// toward returns the child of a directory that is the key, or a directory above it; nil if there is none.
func (n *node) toward(key string) *node {
	i := sort.Search(len(n.children), func(i int) bool { return n.children[i].key() > key }) - 1
	// The child right before the key's place is the key itself, a directory above it, or unrelated.
	if i >= 0 {
		if c := n.children[i]; c.key() == key || c.directory() && strings.HasPrefix(key, c.key()) {
			return c
		}
	}
	return nil
}

// deepest returns the last known node on the way to a key.
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

// fill stores the server's list of a directory: the next page, or all of it anew. Unfolded directories stay unfolded.
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
	// A watch may have added keys that a later page repeats.
	slices.SortStableFunc(n.children, func(a, b *node) int { return strings.Compare(a.key(), b.key()) })
	n.children = slices.CompactFunc(n.children, func(a, b *node) bool { return a.key() == b.key() })
	n.loading, n.loaded, n.err, n.next, n.revision = false, true, "", list.Continue, revision
}

// forget drops the contents of folded directories, which are not read anew: unfolding reads them.
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

// unfolded lists the directories whose children are visible, from the root on.
func (t *tree) unfolded() []*node {
	out := []*node{t.root}
	for _, r := range t.rows {
		if r.kind == keyRow && r.node.directory() && r.node.open {
			out = append(out, r.node)
		}
	}
	return out
}

// change applies an event of the watch. It reports whether a known node changed.
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

// insert adds the node of a new key in a directory, or of a new directory above the key.
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

// count updates the totals of directories above a changed key. leaf is the key's node before the change, or nil.
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
