package request

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits of a file.
const (
	FileBytesMost = 8 << 20
	requestsMost  = 1000
	depthMost     = 100
)

// Parse reads a file of requests: YAML documents, one a request.
func Parse(data []byte) ([]Request, error) {
	if len(data) > FileBytesMost {
		return nil, fmt.Errorf("the file has %d bytes: at most %d are read", len(data), FileBytesMost)
	}
	var all []Request
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var doc yaml.Node
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("request %d: %s", len(all)+1, strings.TrimPrefix(err.Error(), "yaml: "))
		}
		if len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null" {
			continue // a document of comments, or of nothing
		}
		if len(all) == requestsMost {
			return nil, fmt.Errorf("the file has more than %d requests", requestsMost)
		}
		r, err := parse(doc.Content[0])
		if err != nil {
			return nil, fmt.Errorf("request %d: %w", len(all)+1, err)
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, errors.New("there is no request in it: write a verb and a resource, or a method and a path")
	}
	return all, nil
}

// fields are the fields of a request in a file, in the order of writing.
var fields = []struct {
	name string
	text func(*Request) *string // for those that are one word
	read func(*Request, *yaml.Node) error
}{
	{name: "verb", text: func(r *Request) *string { return (*string)(&r.Verb) }},
	{name: "patch", text: func(r *Request) *string { return (*string)(&r.Patch) }},
	{name: "resource", text: func(r *Request) *string { return &r.Resource }},
	{name: "namespace", text: func(r *Request) *string { return &r.Namespace }},
	{name: "name", text: func(r *Request) *string { return &r.Name }},
	{name: "subresource", text: func(r *Request) *string { return &r.Subresource }},
	{name: "method", text: func(r *Request) *string { return &r.Method }},
	{name: "path", text: func(r *Request) *string { return &r.Path }},
	{name: "query", read: readQuery},
	{name: "headers", read: readHeaders},
	{name: "body", read: readBody},
}

func parse(n *yaml.Node) (r Request, err error) {
	if n.Kind != yaml.MappingNode {
		return r, at(n, "a request is a mapping: verb: get, resource: v1/pods, and so on")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if seen[key.Value] {
			return r, at(key, "%s is said twice", key.Value)
		}
		seen[key.Value] = true
		if err := r.read(key, value); err != nil {
			return r, err
		}
	}
	if err := r.Check(); err != nil {
		return r, at(n, "%s", err)
	}
	return r, nil
}

func (r *Request) read(key, value *yaml.Node) error {
	for _, f := range fields {
		if f.name != key.Value {
			continue
		}
		if f.read != nil {
			return f.read(r, value)
		}
		text, err := word(value)
		if err == nil {
			*f.text(r) = text
		}
		return err
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return at(key, "%q: there are %s", key.Value, strings.Join(names, ", "))
}

// at returns an error with the line of n.
func at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", n.Line, fmt.Sprintf(format, args...))
}

// word reads a scalar as text, also where YAML would read a number or a boolean.
func word(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", at(n, "one word is wanted here")
	}
	if n.ShortTag() == "!!null" {
		return "", nil
	}
	return n.Value, nil
}

// words reads a mapping of names to a word or to a list of words.
func words(n *yaml.Node, canonical func(string) string) (map[string][]string, error) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, at(n, "names and values are wanted here")
	}
	all := map[string][]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name, err := word(key)
		if err != nil {
			return nil, err
		}
		if name = canonical(name); name == "" {
			return nil, at(key, "a name is wanted here")
		}
		if _, twice := all[name]; twice {
			return nil, at(key, "%s is said twice", name)
		}
		values := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			values = value.Content
		}
		for _, v := range values {
			text, err := word(v)
			if err != nil {
				return nil, err
			}
			all[name] = append(all[name], text)
		}
		if len(all[name]) == 0 {
			return nil, at(value, "%s has no value", name)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

func readQuery(r *Request, n *yaml.Node) error {
	all, err := words(n, func(s string) string { return s })
	r.Query = url.Values(all)
	return err
}

func readHeaders(r *Request, n *yaml.Node) error {
	all, err := words(n, canonicalHeader)
	for name, values := range all {
		for _, v := range values {
			if !headerName(name) || strings.ContainsFunc(v, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
				return at(n, "%q: %q can't be a header", name, v)
			}
		}
	}
	r.Header = all
	return err
}

// canonicalHeader writes a header's name in its canonical case: Content-Type.
func canonicalHeader(name string) string {
	parts := strings.Split(strings.ToLower(strings.TrimSpace(name)), "-")
	for i, p := range parts {
		if p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "-")
}

// HeaderName returns a header's name in canonical case, and whether the name is valid.
func HeaderName(name string) (string, bool) {
	name = canonicalHeader(name)
	return name, headerName(name)
}

// headerName says whether a name is valid for a header.
func headerName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, c)
	})
}

// readBody takes a text as it is, and any other value as YAML.
func readBody(r *Request, n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		switch n.ShortTag() {
		case "!!null":
		case "!!binary":
			data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
			if err != nil {
				return at(n, "read the body: %s", err)
			}
			r.Body = string(data)
		default:
			r.Body = n.Value
		}
		return nil
	}
	if err := plainYAML(n, 0); err != nil {
		return err
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(n), e.Close()); err != nil {
		return at(n, "write the body: %s", err)
	}
	r.Body = out.String()
	return nil
}

// plainYAML refuses aliases, which can grow without limit when written, and deep nesting.
func plainYAML(n *yaml.Node, depth int) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return at(n, "anchors and aliases are not taken in a body: write it as text, with body: |")
	}
	if depth > depthMost {
		return at(n, "the body is more than %d levels deep", depthMost)
	}
	for _, c := range n.Content {
		if err := plainYAML(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// Format writes requests as a file that Parse reads.
func Format(requests ...Request) ([]byte, error) {
	var out bytes.Buffer
	for i := range requests {
		if i > 0 {
			out.WriteString("---\n")
		}
		e := yaml.NewEncoder(&out)
		e.SetIndent(2)
		if err := errors.Join(e.Encode(requests[i].node()), e.Close()); err != nil {
			return nil, fmt.Errorf("write request %d: %w", i+1, err)
		}
	}
	return out.Bytes(), nil
}

// node is the request as YAML, its fields in their order.
func (r *Request) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	add := func(name string, value *yaml.Node) { n.Content = append(n.Content, text(name), value) }
	for _, f := range fields {
		switch {
		case f.text != nil && *f.text(r) != "":
			add(f.name, text(*f.text(r)))
		case f.name == "query" && len(r.Query) > 0:
			add(f.name, mapping(r.Query))
		case f.name == "headers" && len(r.Header) > 0:
			add(f.name, mapping(r.Header))
		case f.name == "body" && r.Body != "":
			add(f.name, text(r.Body))
		}
	}
	return n
}

// text writes a word, a block of lines, or a quoted string where a block would change the text.
func text(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	if n.Style == yaml.LiteralStyle && (strings.ContainsAny(s, "\r\u0085\u2028\u2029\ufeff") || strings.ContainsAny(s[:1], " \t\n")) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

func mapping(m map[string][]string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value := text(m[name][0])
		if len(m[name]) > 1 {
			value = &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
			for _, v := range m[name] {
				value.Content = append(value.Content, text(v))
			}
		}
		n.Content = append(n.Content, text(name), value)
	}
	return n
}

// FormatLine writes a request as a file of one line, in braces.
func FormatLine(r Request) (string, error) {
	n := r.node()
	flow(n)
	data, err := yaml.Marshal(n)
	if err != nil {
		return "", fmt.Errorf("write the request: %w", err)
	}
	return strings.TrimSuffix(string(data), "\n"), nil
}

// flow writes a node and those below it on one line.
func flow(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		if n.Style == yaml.LiteralStyle {
			n.Style = yaml.DoubleQuotedStyle
		}
		return
	}
	n.Style = yaml.FlowStyle
	for _, c := range n.Content {
		flow(c)
	}
}
