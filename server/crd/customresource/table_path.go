package customresource

import (
	"fmt"

	"k8s.io/client-go/util/jsonpath"
)

// These limit the path of a column. Validation of CRDs only looks at the first character, and the library stops for
// nothing: its parser recurses at each character, so a long path ends the process. Each list of alternatives
// multiplies the results before it, and each ".." multiplies them by the depth of the object.
const (
	maxPathBytes    = 4 << 10
	maxAlternatives = 64
	maxDescents     = 1
)

// columnPath is the JSON path of a column. Requests share it.
type columnPath struct {
	name, text string
	parsed     *jsonpath.JSONPath
	// tooCostly is true for a path beyond the limits. It finds nothing.
	tooCostly bool
	// loops is true for a path with a range. The library keeps the position of a range in the parsed path, and leaves
	// it there: such a path is parsed again for each object.
	loops bool
}

func newColumnPath(name, text string) (*columnPath, error) {
	p := &columnPath{name: name, text: text}
	if len(text) > maxPathBytes {
		p.tooCostly = true
		return p, nil
	}
	tree, err := jsonpath.Parse(name, p.template())
	if err != nil {
		return nil, fmt.Errorf("parse the JSON path of column %s: %w", name, err)
	}
	uses := pathUses{alternatives: len(tree.Root.Nodes)} // each action is evaluated for itself
	uses.add(tree.Root.Nodes)
	p.tooCostly = uses.alternatives > maxAlternatives || uses.descents > maxDescents
	p.loops = uses.loops
	p.parsed, err = p.parse()
	return p, err
}

func (p *columnPath) template() string { return "{" + p.text + "}" }

func (p *columnPath) parse() (*jsonpath.JSONPath, error) {
	path := jsonpath.New(p.name).AllowMissingKeys(true)
	return path, path.Parse(p.template())
}

// find returns the first result in the content of an object: the path of a column has one.
func (p *columnPath) find(content map[string]any) (value any, found bool) {
	if p.tooCostly {
		return nil, false
	}
	path := p.parsed
	if p.loops {
		var err error
		if path, err = p.parse(); err != nil {
			return nil, false
		}
	}
	results, err := path.FindResults(content)
	// A range over null has a result without a value.
	if err != nil || len(results) == 0 || len(results[0]) == 0 || !results[0][0].IsValid() {
		return nil, false
	}
	return results[0][0].Interface(), true
}

// pathUses counts what makes a path costly.
type pathUses struct {
	alternatives, descents int
	loops                  bool
}

func (u *pathUses) add(nodes []jsonpath.Node) {
	for _, node := range nodes {
		switch node := node.(type) {
		case *jsonpath.ListNode:
			u.add(node.Nodes)
		case *jsonpath.UnionNode:
			u.alternatives = min(u.alternatives*len(node.Nodes), maxAlternatives+1)
			for _, alternative := range node.Nodes {
				u.add(alternative.Nodes)
			}
		case *jsonpath.FilterNode:
			u.add(node.Left.Nodes)
			u.add(node.Right.Nodes)
		case *jsonpath.RecursiveNode:
			u.descents++
		case *jsonpath.IdentifierNode:
			u.loops = u.loops || node.Name == "range"
		}
	}
}
