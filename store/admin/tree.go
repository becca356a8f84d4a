package admin

import (
	"context"
	"strings"
)

// mostLeaves limits the keys that a Tree names in one directory below its first level. It only counts the others.
const mostLeaves = 100

// Node is a directory of keys, or a key.
type Node struct {
	Path string `json:"path"`
	// Depth is 1 for the children of the path that was asked for.
	Depth int   `json:"depth"`
	Keys  int64 `json:"keys"`
	Bytes int64 `json:"bytes"`
	// Revision is the newest change.
	Revision int64 `json:"revision"`
	// Key says that the node is a key. More says that it stands for keys that are not named.
	Key  bool `json:"key,omitempty"`
	More bool `json:"more,omitempty"`
}

// add counts a key.
func (n *Node) add(kv *KV) {
	n.Keys++
	n.Bytes += int64(len(kv.Value))
	n.Revision = max(n.Revision, kv.ModRevision)
}

// Tree visits the directories and keys below a path, depth levels of them, parents first, and returns their sum. It
// visits a child of path as soon as that is complete, so it holds one child at a time, with at most mostLeaves keys a
// directory. Without values there are no bytes.
func Tree(ctx context.Context, s Source, path string, depth int, r Range, visit func(Node) error) (total Node, err error) {
	t := &tree{base: strings.TrimSuffix(path, "/"), depth: depth, visit: visit}
	total.Path = path
	for kv, err := range Subtree(ctx, s, path, r) {
		if err != nil {
			return total, err
		}
		total.add(&kv)
		if err := t.add(&kv); err != nil {
			return total, err
		}
	}
	return total, t.flush()
}

type tree struct {
	base  string
	depth int
	visit func(Node) error

	// nodes are the current child of base and its descendants. open are the nodes that contain the last key.
	nodes []*Node
	open  []*branch
}

type branch struct {
	node   *Node
	leaves int
	more   *Node
}

func (t *tree) add(kv *KV) error {
	names := t.split(kv.Key)
	path := t.base
	for i, name := range names {
		leaf := i == len(names)-1
		path += name
		if i >= t.depth {
			break
		}
		if i < len(t.open) && !leaf && t.open[i].node.Path == path+"/" {
			t.open[i].node.add(kv)
			continue
		}
		if i == 0 {
			if err := t.flush(); err != nil {
				return err
			}
		}
		t.open = t.open[:min(i, len(t.open))]
		if leaf {
			t.leaf(i, path, kv)
			break
		}
		node := &Node{Path: path + "/", Depth: i + 1}
		node.add(kv)
		t.nodes = append(t.nodes, node)
		t.open = append(t.open, &branch{node: node})
	}
	return nil
}

// split divides the part of a key behind base; each piece keeps the slash before it.
func (t *tree) split(key string) []string {
	rest := key[len(t.base):]
	if rest == "" {
		return []string{""}
	}
	var names []string
	for len(rest) > 0 {
		end := strings.IndexByte(rest[1:], '/') + 1
		if end == 0 {
			end = len(rest)
		}
		names = append(names, rest[:end])
		rest = rest[end:]
	}
	return names
}

func (t *tree) leaf(level int, path string, kv *KV) {
	if level > 0 {
		parent := t.open[level-1]
		if parent.leaves++; parent.leaves > mostLeaves {
			if parent.more == nil {
				parent.more = &Node{Path: parent.node.Path, Depth: level + 1, More: true}
				t.nodes = append(t.nodes, parent.more)
			}
			parent.more.add(kv)
			return
		}
	}
	node := &Node{Path: path, Depth: level + 1, Key: true}
	node.add(kv)
	t.nodes = append(t.nodes, node)
}

func (t *tree) flush() error {
	for _, node := range t.nodes {
		if err := t.visit(*node); err != nil {
			return err
		}
	}
	t.nodes, t.open = t.nodes[:0], t.open[:0]
	return nil
}
