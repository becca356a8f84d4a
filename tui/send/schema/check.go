package schema

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kx-apiserver/kx/core/request"
)

// Problem is a mistake in a body that the client can find without the server.
type Problem struct {
	Line, Column int // the first is 1
	Path         string
	Text         string
}

// String returns the problem in one line.
func (p Problem) String() string {
	where := fmt.Sprintf("%d:%d ", p.Line, p.Column)
	if p.Path != "" {
		where += p.Path + ": "
	}
	return where + p.Text
}

const (
	problemsMost = 100
	depthMost    = 100
)

// Check returns the problems of a body, sorted by line. d may be nil: then it finds only problems that need no
// schema.
func (d *Document) Check(body string, of Description) []Problem {
	c := &checker{d: d, of: of}
	if d == nil {
		c.d = &Document{}
	}
	if doc := c.read(body); doc != nil {
		c.document(doc)
	}
	slices.SortStableFunc(c.problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return c.problems
}

type checker struct {
	d        *Document
	of       Description
	problems []Problem
}

func (c *checker) say(n *yaml.Node, path, format string, args ...any) {
	if len(c.problems) < problemsMost {
		c.problems = append(c.problems, Problem{max(n.Line, 1), max(n.Column, 1), path, fmt.Sprintf(format, args...)})
	}
}

// read parses YAML, which includes JSON. It returns nil if that fails.
func (c *checker) read(body string) *yaml.Node {
	var doc yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(body))
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && (len(doc.Content) == 0 || null(doc.Content[0])) {
		c.say(&yaml.Node{}, "", "there is nothing in it")
		return nil
	}
	if err != nil {
		c.syntax(body, err)
		return nil
	}
	var more yaml.Node
	if err := decoder.Decode(&more); err == nil && len(more.Content) > 0 {
		c.say(more.Content[0], "", "a second object: a request has one")
	} else if err != nil && !errors.Is(err, io.EOF) {
		c.syntax(body, err)
	}
	return doc.Content[0]
}

var syntaxLine = regexp.MustCompile(`^yaml: line (\d+): `)

// syntax locates a syntax error of YAML or JSON. For YAML, the parser knows only the line, so the column is that of
// the line's first character. For JSON the exact place is known.
func (c *checker) syntax(body string, err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	at := &yaml.Node{Line: 1, Column: 1}
	if m := syntaxLine.FindStringSubmatch(err.Error()); m != nil {
		at.Line, _ = strconv.Atoi(m[1])
		text = strings.TrimPrefix(err.Error(), m[0])
		if strings.HasPrefix(text, "did not find expected") {
			at.Line++ // the parser, unlike the scanner, counts from 0
		}
	}
	lines := strings.Split(body, "\n")
	at.Line = max(min(at.Line, len(lines)), 1)
	line := lines[at.Line-1]
	at.Column = len(line) - len(strings.TrimLeft(line, " \t")) + 1
	if tab := strings.IndexByte(line, '\t'); tab >= 0 && strings.TrimSpace(line[:tab]) == "" {
		at.Column = tab + 1
	}
	var wrong *json.SyntaxError
	if trimmed := strings.TrimSpace(body); strings.HasPrefix(trimmed, "{") && errors.As(json.Unmarshal([]byte(body), new(any)), &wrong) {
		before := body[:max(min(int(wrong.Offset)-1, len(body)), 0)]
		at.Line, at.Column = strings.Count(before, "\n")+1, len(before)-strings.LastIndexByte(before, '\n')
		text = wrong.Error()
	}
	c.say(at, "", "%s", text)
}

func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// document checks the whole body.
func (c *checker) document(n *yaml.Node) {
	if c.of.Patch == request.JSONPatch {
		c.jsonPatch(n)
		return
	}
	if n.Kind != yaml.MappingNode {
		c.say(n, "", "an object is wanted, with apiVersion, kind and so on")
		return
	}
	if c.of.Patch == "" || c.of.Patch == request.ApplyPatch {
		c.head(n)
	}
	c.metadata(n)
	if c.d.Has(c.of.Kind) {
		c.value(n, c.d.kinds[c.of.Kind], "", 0)
	} else {
		c.value(n, &schema{Unknown: true}, "", 0) // duplicates are found anyway
	}
}

// whole reports whether the body is a whole object, so that required fields must be present.
func (c *checker) whole() bool { return c.of.Patch == "" }

// value checks a value and its contents.
func (c *checker) value(n *yaml.Node, s *schema, path string, depth int) {
	if n.Kind == yaml.AliasNode || depth > depthMost {
		return // an anchor's value is checked at the anchor
	}
	s = c.d.resolve(s)
	if null(n) {
		return // null counts as absent; in a merge patch it removes the field
	}
	types := s.types()
	if !fits(n, types) {
		c.say(n, path, "%s is wanted, not %s", strings.Join(types, " or "), c.is(n, types))
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		c.object(n, s, path, depth)
	case yaml.SequenceNode:
		items := s.Items
		if items == nil {
			items = &schema{Unknown: true}
		}
		for i, item := range n.Content {
			c.value(item, items, fmt.Sprintf("%s[%d]", path, i), depth+1)
		}
	case yaml.ScalarNode:
		c.scalar(n, s, path)
	}
}

// fits reports whether a value has one of the types.
func fits(n *yaml.Node, types []string) bool {
	if len(types) == 0 {
		return true
	}
	for _, t := range types {
		switch {
		case t == "object" && n.Kind == yaml.MappingNode, t == "array" && n.Kind == yaml.SequenceNode:
			return true
		case n.Kind != yaml.ScalarNode:
		case t == "boolean" && n.ShortTag() == "!!bool", t == "integer" && whole(n),
			t == "number" && (whole(n) || n.ShortTag() == "!!float"):
			return true
		case t == "string" && (n.ShortTag() == "!!str" && !oldBool(n) || n.ShortTag() == "!!timestamp" || n.ShortTag() == "!!binary"):
			return true
		}
	}
	return false
}

func whole(n *yaml.Node) bool { return n.ShortTag() == "!!int" }

// oldBool reports whether the server, which reads YAML 1.1, takes a word for true or false.
func oldBool(n *yaml.Node) bool {
	return n.Style == 0 && slices.Contains([]string{"yes", "no", "on", "off", "y", "n"}, strings.ToLower(n.Value))
}

// is describes the type of a value.
func (c *checker) is(n *yaml.Node, types []string) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "object"
	case n.Kind == yaml.SequenceNode:
		return "array"
	case oldBool(n) && slices.Contains(types, "string"):
		return fmt.Sprintf("%s, which the server reads as a boolean: quote it", n.Value)
	case n.ShortTag() == "!!bool":
		return "boolean" + quoteIt(types)
	case n.ShortTag() == "!!int":
		return "integer" + quoteIt(types)
	case n.ShortTag() == "!!float":
		return "number" + quoteIt(types)
	}
	return "string"
}

func quoteIt(types []string) string {
	if slices.Contains(types, "string") {
		return ": quote it"
	}
	return ""
}

// object checks the fields of an object.
func (c *checker) object(n *yaml.Node, s *schema, path string, depth int) {
	seen := map[string]bool{}
	known := s.Properties
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := join(path, key.Value)
		if seen[key.Value] {
			c.say(key, at, "it is there twice")
		}
		seen[key.Value] = true
		p := known[key.Value]
		switch {
		case p != nil:
		case s.Additional != nil && s.Additional.schema != nil:
			p = s.Additional.schema
		case len(known) == 0 || s.Unknown || s.Additional != nil && s.Additional.any || s.Embedded && slices.Contains(first, key.Value),
			c.of.Patch == request.StrategicPatch && strings.HasPrefix(key.Value, "$"):
			p = &schema{Unknown: true}
		default:
			c.say(key, at, "unknown field%s", nearestField(key.Value, s))
			continue
		}
		c.value(value, p, at, depth+1)
	}
	for _, name := range s.Required {
		if c.whole() && !seen[name] {
			c.say(n, join(path, name), "it is required (%s)", c.d.describe(c.d.resolve(known[name])))
		}
	}
}

// nearestField suggests a similar field for a misspelled one.
func nearestField(typed string, s *schema) string {
	for _, name := range s.names() {
		if strings.EqualFold(name, typed) || len(typed) > 2 && (strings.HasPrefix(name, typed) || strings.HasPrefix(typed, name)) {
			return ": is it " + name + "?"
		}
	}
	return ""
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// scalar checks a word or a number against a schema.
func (c *checker) scalar(n *yaml.Node, s *schema, path string) {
	if len(s.Enum) > 0 {
		names := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			names[i] = fmt.Sprint(v)
		}
		if !slices.Contains(names, n.Value) {
			c.say(n, path, "there are %s", strings.Join(names, ", "))
		}
	}
	text := n.ShortTag() == "!!str"
	if length := len([]rune(n.Value)); text && (s.MinLength != nil && length < *s.MinLength ||
		s.MaxLength != nil && length > *s.MaxLength) {
		c.say(n, path, "%d characters: %s", length, between(intOf(s.MinLength), intOf(s.MaxLength)))
	}
	if number, err := strconv.ParseFloat(n.Value, 64); err == nil && !text &&
		(s.Minimum != nil && number < *s.Minimum || s.Maximum != nil && number > *s.Maximum) {
		c.say(n, path, "%s: %s", n.Value, between(s.Minimum, s.Maximum))
	}
	if s.Format == "int32" && whole(n) {
		if _, err := strconv.ParseInt(n.Value, 0, 32); err != nil {
			c.say(n, path, "it does not fit into 32 bits")
		}
	}
	if s.Format == "byte" && text {
		if _, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), "")); err != nil {
			c.say(n, path, "base64 is wanted: %s", err)
		}
	}
	if pattern, err := regexp.Compile(s.Pattern); err == nil && text && s.Pattern != "" && !pattern.MatchString(n.Value) {
		c.say(n, path, "it must match %s", s.Pattern)
	}
}

func intOf(n *int) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

func between(low, high *float64) string {
	switch {
	case low != nil && high != nil:
		return fmt.Sprintf("from %v to %v are wanted", *low, *high)
	case low != nil:
		return fmt.Sprintf("at least %v", *low)
	}
	return fmt.Sprintf("at most %v", *high)
}

// jsonPatch checks a list of operations (RFC 6902).
func (c *checker) jsonPatch(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		c.say(n, "", "a list of operations is wanted, such as - {op: remove, path: /data/key}")
		return
	}
	needs := map[string][]string{
		"add": {"value"}, "remove": nil, "replace": {"value"}, "move": {"from"}, "copy": {"from"}, "test": {"value"},
	}
	for i, item := range n.Content {
		path := fmt.Sprintf("[%d]", i)
		if item.Kind != yaml.MappingNode {
			c.say(item, path, "an operation is wanted, such as {op: remove, path: /data/key}")
			continue
		}
		fields := map[string]*yaml.Node{}
		for j := 0; j+1 < len(item.Content); j += 2 {
			fields[item.Content[j].Value] = item.Content[j+1]
		}
		op := fields["op"]
		if op == nil {
			c.say(item, path, "op is required: add, remove, replace, move, copy or test")
			continue
		}
		wanted, known := needs[op.Value]
		if !known {
			c.say(op, path+".op", "there are add, remove, replace, move, copy, test")
		}
		for _, name := range append([]string{"path"}, wanted...) {
			if fields[name] == nil {
				c.say(item, join(path, name), "it is required")
			}
		}
		for _, name := range []string{"path", "from"} {
			if f := fields[name]; f != nil && f.Value != "" && !strings.HasPrefix(f.Value, "/") {
				c.say(f, join(path, name), "a path begins with /, such as /data/key")
			}
		}
	}
}
