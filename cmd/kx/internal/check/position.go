package check

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// depthMost limits the steps of a search: aliases can make a document endless.
const depthMost = 1000

// find returns the node of a field: the key of a mapping, or the item of a list. If the field is not there, it returns
// the deepest node on the way to it, and whole is false. Paths that decoders of JSON report have no indexes: then
// the first item with the field counts for which fits is true.
func find(root *yaml.Node, path string, fits func(*yaml.Node) bool) (at *yaml.Node, whole bool) {
	s := search{fits: fits}
	return s.below(root, root, path, depthMost)
}

type search struct{ fits func(*yaml.Node) bool }

// below searches path below value. at is the node that stands for value.
func (s *search) below(at, value *yaml.Node, path string, depth int) (*yaml.Node, bool) {
	value = aliasTarget(value)
	path = strings.TrimPrefix(path, ".")
	switch {
	case depth == 0:
		return at, false
	case path == "":
		return s.endOfPath(at, value)
	case value.Kind == yaml.SequenceNode:
		return s.item(at, value, path, depth)
	case value.Kind == yaml.MappingNode:
		if key, item, rest := entry(value, path, depth); key != nil {
			return s.below(key, item, rest, depth-1)
		}
	}
	return at, false
}

// endOfPath returns the end of a path. If the value does not fit, an entry or item of it may: a decoder names the map,
// not the key.
func (s *search) endOfPath(at, value *yaml.Node) (*yaml.Node, bool) {
	if s.fits == nil || s.fits(value) {
		return at, true
	}
	for i, item := range value.Content {
		switch isKey := value.Kind == yaml.MappingNode && i%2 == 0; {
		case isKey || !s.fits(aliasTarget(item)):
		case value.Kind == yaml.MappingNode:
			return value.Content[i-1], true
		default:
			return item, true
		}
	}
	return at, false
}

// item searches path in the items of a list, or in one if the path begins with its index.
func (s *search) item(at, list *yaml.Node, path string, depth int) (*yaml.Node, bool) {
	if name, rest, ok := subscript(path); ok {
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(list.Content) {
			return s.below(list.Content[i], list.Content[i], rest, depth-1)
		}
		return at, false
	}
	for _, item := range list.Content {
		if found, whole := s.below(item, item, path, depth-1); whole {
			return found, true
		}
	}
	return at, false
}

// entry returns the entry of a mapping that path begins with, and the rest of the path. Names may contain dots, so the
// longest counts; of keys that are there twice the last one, as for decoders.
func entry(mapping *yaml.Node, path string, depth int) (key, value *yaml.Node, rest string) {
	name, after, quoted := subscript(path)
	longest := -1
	var merged *yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		k := mapping.Content[i]
		if k.Tag == "!!merge" {
			merged = aliasTarget(mapping.Content[i+1])
			continue
		}
		remaining, ok := strings.CutPrefix(path, k.Value)
		switch {
		case quoted && k.Value == name:
			key, value, rest, longest = k, mapping.Content[i+1], after, len(path)
		case !quoted && ok && len(k.Value) >= longest && (remaining == "" || remaining[0] == '.' || remaining[0] == '['):
			key, value, rest, longest = k, mapping.Content[i+1], remaining, len(k.Value)
		}
	}
	if key != nil || merged == nil || depth <= 1 {
		return key, value, rest
	}
	from := []*yaml.Node{merged}
	if merged.Kind == yaml.SequenceNode {
		from = merged.Content
	}
	for _, n := range from {
		if n = aliasTarget(n); n.Kind != yaml.MappingNode {
			continue
		}
		if key, value, rest = entry(n, path, depth-1); key != nil {
			break
		}
	}
	return key, value, rest
}

// subscript splits the index or key in brackets off a path that begins with it.
func subscript(path string) (name, rest string, ok bool) {
	if !strings.HasPrefix(path, "[") {
		return "", "", false
	}
	name, rest, ok = strings.Cut(path[1:], "]")
	if unquoted, err := strconv.Unquote(name); err == nil {
		name = unquoted
	}
	return name, rest, ok
}

// aliasTarget returns the node that an alias stands for.
func aliasTarget(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// child returns the node of a field, or nil.
func child(root *yaml.Node, names ...string) *yaml.Node {
	value := aliasTarget(root)
	for _, name := range names {
		if value.Kind != yaml.MappingNode {
			return nil
		}
		key, item, rest := entry(value, name, depthMost)
		if key == nil || rest != "" {
			return nil
		}
		value = aliasTarget(item)
	}
	return value
}

// scalar returns the scalar of a field, or "" if there is none.
func scalar(root *yaml.Node, names ...string) string {
	if n := child(root, names...); n != nil && n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		return n.Value
	}
	return ""
}

// duplicateKey returns the key in a line of the text of a document that its mapping has already. Name is the key as Go
// writes it: names of other types than text may be spelled in several ways.
func (d *document) duplicateKey(name string, line int) (found *yaml.Node) {
	sent, written := d.sent, d.expanded
	if sent == nil {
		sent, written = d.root, d.root
	}
	text, err := strconv.Unquote(name)
	isText := err == nil
	pairs(sent, written, func(sent, written *yaml.Node) {
		if sent.Kind != yaml.MappingNode {
			return
		}
		earlier := map[string]bool{}
		for i := 0; i+1 < len(sent.Content); i += 2 {
			key := sent.Content[i]
			if key.Line == line && (earlier[key.Value] && (key.Value == text || !isText) || !isText && i > 0 && found == nil) {
				found = written.Content[i]
			}
			earlier[key.Value] = true
		}
	})
	return found
}

// pairs calls f for two trees of the same shape, and all nodes below them.
func pairs(a, b *yaml.Node, f func(a, b *yaml.Node)) {
	f(a, b)
	for i := range min(len(a.Content), len(b.Content)) {
		pairs(a.Content[i], b.Content[i], f)
	}
}

// visit calls f for n and all nodes below it. It does not follow aliases.
func visit(n *yaml.Node, f func(*yaml.Node)) {
	f(n)
	for _, child := range n.Content {
		visit(child, f)
	}
}
