package schema

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// node is an OpenAPI schema in the form that a walk uses. It is immutable.
type node struct {
	*spec.Schema
	pattern *pattern
	// hasFormat means that strings must have Schema.Format. It is false for unknown formats.
	hasFormat bool

	allOf, anyOf, oneOf []*node
	not                 *node
	items               *node
	additional          *node
	properties          []namedNode // by name
}

type namedNode struct {
	name string
	*node
}

// pattern is a regular expression. It is compiled at the first value.
type pattern struct {
	text    string
	compile func() compiledPattern
}

type compiledPattern struct {
	*regexp.Regexp
	err error
	// size is the number of its instructions. Each byte of a value may take a step of each instruction.
	size int
}

// openAPISchema returns the schema for validation, without unknown formats.
func openAPISchema(props *apiextensions.JSONSchemaProps) (*spec.Schema, error) {
	out := &spec.Schema{}
	if props == nil {
		return out, nil
	}
	strip := validation.StripUnsupportedFormatsPostProcessorForVersion(environment.DefaultCompatibilityVersion())
	return out, validation.ConvertJSONSchemaPropsWithPostProcess(props, out, strip)
}

// nodes creates the nodes of one version's schemas. Equal patterns are compiled once.
type nodes struct{ patterns map[string]*pattern }

func newNodes() *nodes { return &nodes{map[string]*pattern{}} }

func (c *nodes) node(s *spec.Schema) *node {
	if s == nil {
		return nil
	}
	n := &node{
		Schema: s, hasFormat: strfmt.Default.ContainsName(s.Format),
		allOf: c.each(s.AllOf), anyOf: c.each(s.AnyOf), oneOf: c.each(s.OneOf), not: c.node(s.Not),
	}
	if s.Pattern != "" {
		n.pattern = c.patternOf(s.Pattern)
	}
	if s.Items != nil {
		n.items = c.node(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		n.additional = c.node(s.AdditionalProperties.Schema)
	}
	for name, prop := range s.Properties {
		n.properties = append(n.properties, namedNode{name, c.node(&prop)})
	}
	slices.SortFunc(n.properties, func(a, b namedNode) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return n
}

func (c *nodes) each(schemas []spec.Schema) (out []*node) {
	for i := range schemas {
		out = append(out, c.node(&schemas[i]))
	}
	return out
}

func (c *nodes) patternOf(text string) *pattern {
	p := c.patterns[text]
	if p == nil {
		p = &pattern{text, sync.OnceValue(func() compiledPattern { return compilePattern(text) })}
		c.patterns[text] = p
	}
	return p
}

func compilePattern(text string) compiledPattern {
	re, err := regexp.Compile(text)
	if err != nil {
		return compiledPattern{err: err}
	}
	out := compiledPattern{Regexp: re, size: len(text)}
	if parsed, err := syntax.Parse(text, syntax.Perl); err == nil {
		if program, err := syntax.Compile(parsed.Simplify()); err == nil {
			out.size = len(program.Inst)
		}
	}
	return out
}
