package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"
)

// document is one object of a file.
type document struct {
	Object
	position Position
	template string
	// file, line and column say where text begins, counted from 0.
	file         string
	line, column int
	// text is the body of the request, and media its content type.
	text  []byte
	media string
	// root is the mapping of the object. It is nil if there is none, and failure says why.
	root    *yaml.Node
	failure *Finding
	// sent has the nodes of text, and expanded those that they were written from, if these are not those of root.
	sent, expanded *yaml.Node
	// separators has the lines that begin after a separator which ends a line in YAML, but not in a file.
	separators []int
	// mark is a column that Tables of its objects have once the definition is served as this document has it, or "".
	mark string
	// source is the document in another file that a kustomization made this one from, or nil.
	source *document
}

// at returns the position of a node of the document.
func (d *document) at(n *yaml.Node) Position {
	p := Position{File: d.file, Line: d.lineOf(n.Line), Column: n.Column}
	if n.Line == 1 {
		p.Column += d.column
	}
	return p
}

// lineOf returns the line in the file of a line that the YAML library counts, from 1.
func (d *document) lineOf(line int) int {
	passed, _ := slices.BinarySearch(d.separators, line+1)
	return d.line + line - passed
}

// separators are the characters that end lines in YAML alone.
var separators = []string{"\u0085", "\u2028", "\u2029"}

// separatorLines returns the lines of YAML that begin after a separator.
func separatorLines(text []byte) (lines []int) {
	if !slices.ContainsFunc(separators, func(s string) bool { return bytes.Contains(text, []byte(s)) }) {
		return nil
	}
	line := 1
	for _, r := range string(text) {
		switch s := string(r); {
		case r == '\n':
			line++
		case slices.Contains(separators, s):
			line++
			lines = append(lines, line)
		}
	}
	return lines
}

// origin returns the document that a person wrote: the one that a kustomization made d from, or d.
func (d *document) origin() *document {
	if d.source != nil {
		return d.source
	}
	return d
}

// field returns the position of a field. Without such a field it is that of the field which would contain it.
func (d *document) field(path string, fits func(*yaml.Node) bool) Position {
	in := d.origin()
	n, whole := find(in.root, path, fits)
	if !whole && fits != nil {
		n, _ = find(in.root, path, nil)
	}
	if n == in.root {
		return d.position
	}
	return in.at(n)
}

const yamlMedia = "application/yaml"

// documentMost is the most that an API server reads of a body.
const documentMost = 3 << 20

// parse splits a file into documents. Those that can't be parsed have a failure.
func parse(file string, data []byte) []*document {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	isJSON := strings.HasSuffix(file, ".json")
	if isJSON || bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		all, err := parseJSON(file, data)
		if err == nil || isJSON {
			return all
		}
	}
	var all []*document
	for _, part := range splitYAML(data) {
		all = append(all, newDocument(part, file, yamlMedia)...)
	}
	return all
}

// part is a piece of a file, and where it begins.
type part struct {
	text         []byte
	line, column int
}

// splitYAML splits a stream at the markers that begin and end its documents. It overwrites markers and directives in
// data, so that the columns of what follows stay.
func splitYAML(data []byte) (parts []part) {
	begin, beginLine, line := 0, 0, 0
	before := true // there may be directives
	for at := 0; at < len(data); line++ {
		end := len(data)
		if i := bytes.IndexAny(data[at:], "\r\n"); i >= 0 {
			end = at + i + 1
		}
		if end < len(data) && data[end-1] == '\r' && data[end] == '\n' {
			end++
		}
		switch text := data[at:end]; {
		case marked(text, "---"), marked(text, "..."):
			parts = append(parts, part{data[begin:at], beginLine, 0})
			before = text[0] == '.'
			for i := 0; i < len(text) && (i < 3 || text[i] == '\t'); i++ {
				text[i] = ' ' // a tab may stand after a marker, and not at the beginning of a line
			}
			begin, beginLine = at, line
		case before && text[0] == '%':
			text[0] = '#'
		case len(bytes.TrimSpace(text)) > 0 && text[0] != '#':
			before = false
		}
		at = end
	}
	return append(parts, part{data[begin:], beginLine, 0})
}

// marked reports whether a line begins with a marker.
func marked(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}

// parseJSON parses objects that follow each other. After a syntax error there are no more.
func parseJSON(file string, data []byte) (all []*document, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			offset := len(data)
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) {
				offset = min(int(syntax.Offset)-1, offset)
			}
			line, column := place(data, offset)
			d := &document{file: file, position: Position{file, line + 1, column + 1}}
			d.fail(d.position, "this is no JSON: "+err.Error()+": correct it")
			return append(all, d), err
		}
		line, column := place(data, int(decoder.InputOffset())-len(raw))
		all = append(all, newDocument(part{raw, line, column}, file, runtime.ContentTypeJSON)...)
	}
}

// place returns the line and the column of an offset, counted from 0. Columns are counted in characters.
func place(data []byte, offset int) (line, column int) {
	before := data[:offset]
	return bytes.Count(before, []byte("\n")), utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

// rendered matches the comment by which helm names the template of a document.
var rendered = regexp.MustCompile(`(?m)^# Source: (\S.*?)\s*$`)

// parseError matches an error of the YAML library.
var parseError = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)

// newDocument parses the documents of a part: none if it has only comments, several if it is a List.
func newDocument(p part, file, media string) []*document {
	d := &document{file: file, line: p.line, column: p.column, text: p.text, media: media,
		position: Position{file, p.line + 1, p.column + 1}}
	if len(p.text) > documentMost {
		return d.fail(d.position, fmt.Sprintf("the document has %d bytes, and an API server reads %d at most: split it",
			len(p.text), documentMost))
	}
	if err := d.read(); err != nil {
		return d.broken(err)
	}
	if d.root == nil || d.root.Tag == "!!null" {
		return nil
	}
	d.position = d.at(d.root)
	if d.root.Kind != yaml.MappingNode {
		return d.fail(d.position, "this is no object: an object begins with its apiVersion and kind")
	}
	if at := d.unrendered(); at != nil {
		return d.fail(*at, unrendered)
	}
	return d.objects(Object{}, "the document has no apiVersion and kind, so it is no manifest: leave its file out")
}

// read fills in root, if there is one, from text.
func (d *document) read() (err error) {
	if d.media == runtime.ContentTypeJSON {
		d.root, err = readJSON(d.text)
		return err
	}
	if len(bytes.TrimSpace(d.text)) == 0 {
		return nil
	}
	if m := rendered.FindSubmatch(d.text); m != nil {
		d.template = string(m[1])
	}
	d.separators = separatorLines(d.text)
	var root yaml.Node
	if err := yaml.Unmarshal(d.text, &root); err != nil || len(root.Content) == 0 {
		return err
	}
	d.root = root.Content[0]
	return nil
}

// objects returns the document, or if it is a List those of its items. It has the kind and version of inherited if it
// has none of its own. Without them it fails with the message anonymous.
func (d *document) objects(inherited Object, anonymous string) []*document {
	d.Object = Object{
		cmp.Or(scalar(d.root, "apiVersion"), inherited.APIVersion), cmp.Or(scalar(d.root, "kind"), inherited.Kind),
		scalar(d.root, "metadata", "namespace"), scalar(d.root, "metadata", "name"),
	}
	if d.APIVersion == "" || d.Kind == "" {
		return d.fail(d.position, anonymous)
	}
	if _, items, rest := entry(d.root, "items", 1); items != nil && rest == "" && strings.HasSuffix(d.Kind, "List") {
		if items = aliasTarget(items); items.Kind == yaml.SequenceNode || items.Tag == "!!null" {
			return d.items(items)
		}
	}
	return []*document{d}
}

func (d *document) fail(at Position, message string) []*document {
	d.root, d.failure = nil, &Finding{Level: Failure, Position: at, Message: message}
	return []*document{d}
}

// unrendered says what to do with a template.
const unrendered = "{{ begins an expression of helm, which is not rendered here: helm template CHART | kx check -"

// braces begin an expression of helm.
var braces = []byte("{{")

// unknownAnchor matches the error about an alias, which has no line.
var unknownAnchor = regexp.MustCompile(`^unknown anchor '(.+)' referenced$`)

// broken returns the document with the error of the YAML library. If a template stands where the error is, it fails
// with that.
func (d *document) broken(err error) []*document {
	at, message := d.position, err.Error()
	if m := parseError.FindStringSubmatch(message); m != nil {
		message = m[2]
		if line, err := strconv.Atoi(m[1]); err == nil {
			if strings.HasPrefix(message, "did not find expected") {
				line++ // the library counts lines from 0 in the errors of its parser
			}
			at.Line, at.Column = d.lineOf(line), 1
		} else if m := unknownAnchor.FindStringSubmatch(message); m != nil {
			at = d.offset(bytes.Index(d.text, []byte("*"+m[1])))
		} else if i := bytes.IndexFunc(d.text, unreadable); i >= 0 {
			at = d.offset(i)
		}
	}
	line := d.line
	for text := range bytes.Lines(d.text) {
		line++
		if i := bytes.Index(text, braces); i >= 0 && at.Line-1 <= line && line <= at.Line+1 {
			return d.fail(Position{d.file, line, utf8.RuneCount(text[:i]) + 1}, unrendered)
		}
	}
	return d.fail(at, "this is no YAML: "+strings.ReplaceAll(message, "\n", " ")+": correct it")
}

// offset returns the position of an offset in the text of a document that begins with a line.
func (d *document) offset(at int) Position {
	line, column := place(d.text, max(0, at))
	return Position{d.file, d.line + line + 1, column + 1}
}

// unreadable reports whether YAML must not have a character.
func unreadable(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\u0085", r)
}

// unrendered returns the position of an expression of helm that is YAML by chance: a mapping with a mapping as key.
func (d *document) unrendered() (at *Position) {
	if !bytes.Contains(d.text, braces) {
		return nil
	}
	visit(d.root, func(n *yaml.Node) {
		if n.Kind != yaml.MappingNode || at != nil {
			return
		}
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Kind == yaml.MappingNode {
				p := d.at(n)
				at = &p
			}
		}
	})
	return at
}

// items returns the items of a List as documents of their own. Those of a list of one kind may leave out that kind.
func (d *document) items(list *yaml.Node) []*document {
	inherited := Object{}
	if kind := strings.TrimSuffix(d.Kind, "List"); kind != "" {
		inherited = Object{APIVersion: d.APIVersion, Kind: kind}
	}
	var all []*document
	for _, item := range list.Content {
		budget := nodesMost
		root := expand(item, &budget)
		of := &document{file: d.file, line: d.line, column: d.column, separators: d.separators, template: d.template, media: yamlMedia,
			position: d.at(item), root: aliasTarget(item), expanded: root}
		switch {
		case budget < 0:
			of.fail(of.position, "the aliases of this item stand for more than an API server reads: write them out")
		case of.root.Kind != yaml.MappingNode:
			of.fail(of.position, "this item is no object: an object begins with its apiVersion and kind")
		default:
			all = append(all, of.item(inherited)...)
			continue
		}
		all = append(all, of)
	}
	return all
}

// item returns the documents of an item of a List.
func (d *document) item(inherited Object) []*document {
	all := d.objects(inherited, "the item has no apiVersion and kind, so it is no manifest: take it out of the list")
	if len(all) != 1 || all[0] != d || d.failure != nil {
		return all
	}
	for _, field := range [][2]string{{"kind", d.Kind}, {"apiVersion", d.APIVersion}} {
		if scalar(d.root, field[0]) == "" {
			d.expanded.Content = append(d.expanded.Content, text(field[0]), text(field[1]))
		}
	}
	var sent yaml.Node
	var err error
	if d.text, err = yaml.Marshal(d.expanded); err == nil {
		err = yaml.Unmarshal(d.text, &sent)
	}
	if err != nil {
		return d.fail(d.position, "this item is no YAML: "+err.Error()+": correct it")
	}
	d.sent = sent.Content[0]
	return all
}

func text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

// nodesMost limits an item of a List after its aliases are replaced.
const nodesMost = 200_000

// expand returns a node with its aliases replaced by what they stand for: an item of a List is sent alone, without the
// anchors of the others. The result has no comments, and is cut when the budget is negative.
func expand(n *yaml.Node, budget *int) *yaml.Node {
	n = aliasTarget(n)
	if *budget--; *budget < 0 {
		return n
	}
	c := &yaml.Node{Kind: n.Kind, Style: n.Style, Tag: n.Tag, Value: n.Value, Line: n.Line, Column: n.Column}
	for _, child := range n.Content {
		c.Content = append(c.Content, expand(child, budget))
	}
	return c
}
