package etcd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// item is a key as a list has it; one that ends in a slash is a directory of as many keys.
func item(key string, keys, bytes, mod int64) v1alpha1.Key {
	var k v1alpha1.Key
	k.Name, k.Spec.Key, k.Spec.Directory = v1alpha1.KeyName(key), key, strings.HasSuffix(key, "/")
	k.Status = v1alpha1.KeyStatus{Keys: keys, Bytes: bytes, Measured: keys, ModRevision: mod, Version: 1}
	return k
}

// drawn are the rows as text: + is folded, - unfolded.
func drawn(t *tree) string {
	t.flatten()
	var b strings.Builder
	for _, r := range t.rows {
		n := r.node
		switch r.kind {
		case moreRow:
			fmt.Fprintf(&b, "%s(more)\n", strings.Repeat(" ", n.depth+1))
			continue
		case messageRow:
			fmt.Fprintf(&b, "%s(%s)\n", strings.Repeat(" ", n.depth+1), n.err)
			continue
		}
		mark := " "
		if n.directory() {
			mark = map[bool]string{true: "-", false: "+"}[n.open]
		}
		s := n.item.Status
		fmt.Fprintf(&b, "%s%s%s %d %d %d", strings.Repeat(" ", n.depth), mark, n.name(), s.Keys, s.Bytes, s.ModRevision)
		for flag, set := range map[string]bool{" rough": n.rough} {
			if set {
				b.WriteString(flag)
			}
		}
		switch {
		case n.deleted:
			b.WriteString(" deleted")
		case n.changed:
			b.WriteString(" changed")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// find is what a tree has of that key.
func (t *tree) find(key string) *node {
	if key == "" {
		return t.root
	}
	if n := t.deepest(key); n.key() == key {
		return n
	}
	return nil
}

// someTree has one directory unfolded, read as of revision 10.
func someTree() (*tree, *node) {
	t := newTree()
	t.fill(t.root, &v1alpha1.KeyList{Items: []v1alpha1.Key{item("/r/", 5, 50, 9), item("x", 1, 1, 2)}}, 10, false)
	r := t.find("/r/")
	r.open = true
	t.fill(r, &v1alpha1.KeyList{Items: []v1alpha1.Key{item("/r/a/", 3, 30, 9), item("/r/b", 1, 10, 8), item("/r/c", 1, 10, 7)}}, 10, false)
	return t, r
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	want = strings.TrimPrefix(want, "\n")
	if got != want {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

func TestTree(t *testing.T) {
	tr, r := someTree()
	want(t, "at first", drawn(tr), `
-/r/ 5 50 9
 +a/ 3 30 9
  b 1 10 8
  c 1 10 7
 x 1 1 2
`)
	if tr.find("/r/b") == nil || tr.find("/r/a/") == nil || tr.find("/r/a/x") != nil || tr.find("") != tr.root {
		t.Error("find")
	}
	if got := tr.deepest("/r/a/x/y").key(); got != "/r/a/" {
		t.Errorf("the deepest on the way is %s", got)
	}
	for _, e := range []struct {
		kind string
		item v1alpha1.Key
	}{
		{"MODIFIED", item("/r/b", 1, 12, 8)},   // counted already
		{"MODIFIED", item("/r/b", 1, 14, 11)},  // known
		{"ADDED", item("/r/bb", 1, 5, 12)},     // new beside it
		{"DELETED", item("/r/c", 0, 0, 13)},    // known
		{"ADDED", item("/r/a/new", 1, 7, 14)},  // below what is folded
		{"MODIFIED", item("/r/a/1", 1, 9, 15)}, // how much that was is not known
		{"ADDED", item("/r/z/deep/1", 1, 3, 16)},
		{"ADDED", item("/q/1", 1, 2, 17)},
		{"DELETED", item("/nowhere", 0, 0, 18)},
	} {
		tr.change(e.kind, e.item)
	}
	want(t, "after changes", drawn(tr), `
+/q/ 1 2 17 changed
-/r/ 7 59 16 rough changed
 +a/ 4 37 15 rough changed
  b 1 14 11 changed
  bb 1 5 12 changed
  c 1 10 13 deleted
 +z/ 1 3 16 changed
 x 1 1 2
`)
	// What was unfolded stays so when it is read again, and marks go.
	tr.fill(tr.root, &v1alpha1.KeyList{Items: []v1alpha1.Key{item("/r/", 4, 44, 16)}}, 18, false)
	tr.fill(r, &v1alpha1.KeyList{Items: []v1alpha1.Key{item("/r/a/", 4, 44, 16)}}, 18, false)
	want(t, "read again", drawn(tr), `
-/r/ 4 44 16
 +a/ 4 44 16
`)
}

func TestTreePages(t *testing.T) {
	tr := newTree()
	list := v1alpha1.KeyList{Items: []v1alpha1.Key{item("/a", 1, 1, 1), item("/c", 1, 1, 1)}}
	list.Continue = "next"
	tr.fill(tr.root, &list, 10, false)
	tr.change("ADDED", item("/b", 1, 1, 11)) // between what is read
	tr.change("ADDED", item("/y", 1, 1, 12)) // of a page that is not
	want(t, "a page", drawn(tr), `
 /a 1 1 1
 /b 1 1 11 changed
 /c 1 1 1
(more)
`)
	tr.fill(tr.root, &v1alpha1.KeyList{Items: []v1alpha1.Key{item("/d", 1, 1, 1)}}, 10, true)
	want(t, "two pages", drawn(tr), `
 /a 1 1 1
 /b 1 1 11 changed
 /c 1 1 1
 /d 1 1 1
`)
	empty := newTree()
	empty.fill(empty.root, &v1alpha1.KeyList{}, 10, false)
	want(t, "nothing", drawn(empty), "()\n")
}

// FuzzTree changes a tree in any way: what directories say of their keys stays what is in them, where that is known.
func FuzzTree(f *testing.F) {
	f.Add("ADDED /r/a/x;DELETED /r/b;MODIFIED /r/c")
	f.Add("ADDED ;ADDED /;DELETED /r/;ADDED /r//x;ADDED /r/b/x")
	f.Fuzz(func(t *testing.T, text string) {
		tr, _ := someTree()
		for i, line := range strings.Split(text, ";") {
			kind, key, _ := strings.Cut(line, " ")
			if key == "" {
				continue // etcd has none
			}
			k := item(key, 1, 3, int64(11+i))
			k.Spec.Directory = false
			tr.change(kind, k)
			drawn(tr)
			for j := 1; j < len(tr.root.children); j++ {
				if tr.root.children[j-1].key() >= tr.root.children[j].key() {
					t.Fatalf("out of order: %q", drawn(tr))
				}
			}
		}
	})
}
