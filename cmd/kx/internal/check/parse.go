package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

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
	// source is the document in another file that a kustomization made this one from, or nil.
	source *document
}

// at returns the position of a node of the document.
func (d *document) at(n *yaml.Node) Position {
	p := Position{File: d.file, Line: d.line + n.Line, Column: n.Column}
	if n.Line == 1 {
		p.Column += d.column
	}
	return p
}

// field returns the position of a field. Without such a field it is that of the field which would contain it.
func (d *document) field(path string, fits func(*yaml.Node) bool) Position {
	in := d
	if d.source != nil {
		in = d.source
	}
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

// splitYAML splits a stream at the markers of its documents. It overwrites markers and directives in data, so that the
// columns of what follows stay.
func splitYAML(data []byte) (parts []part) {
	begin, beginLine, line := 0, 0, 0
	for at := 0; at < len(data); line++ {
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		switch text := data[at:end]; {
		case bytes.HasPrefix(text, []byte("---")) && (len(text) == 3 || bytes.IndexByte([]byte(" \t\r\n"), text[3]) >= 0):
			parts = append(parts, part{data[begin:at], beginLine, 0})
			copy(text, "   ")
			begin, beginLine = at, line
		case text[0] == '%':
			text[0] = '#'
		}
		at = end
	}
	return append(parts, part{data[begin:], beginLine, 0})
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

// place returns the line and the column of an offset, counted from 0.
func place(data []byte, offset int) (line, column int) {
	before := data[:offset]
	return bytes.Count(before, []byte("\n")), offset - (bytes.LastIndexByte(before, '\n') + 1)
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
	text := p.text
	if media == runtime.ContentTypeJSON {
		text = bytes.ReplaceAll(text, []byte("\t"), []byte(" ")) // between tokens only: within strings they are escaped
	} else if m := rendered.FindSubmatch(text); m != nil {
		d.template = string(m[1])
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return d.broken(err)
	}
	if len(root.Content) == 0 || root.Content[0].Tag == "!!null" {
		return nil
	}
	d.root = root.Content[0]
	d.position = d.at(d.root)
	if d.root.Kind != yaml.MappingNode {
		return d.fail(d.position, "this is no object: an object begins with its apiVersion and kind")
	}
	if at := d.unrendered(); at != nil {
		return d.fail(*at, unrendered)
	}
	d.Object = Object{scalar(d.root, "apiVersion"), scalar(d.root, "kind"), scalar(d.root, "metadata", "namespace"),
		scalar(d.root, "metadata", "name")}
	if d.APIVersion == "" || d.Kind == "" {
		return d.fail(d.position, "the document has no apiVersion and kind, so it is no manifest: leave its file out")
	}
	if _, items, rest := entry(d.root, "items", 1); items != nil && rest == "" && strings.HasSuffix(d.Kind, "List") {
		if items = resolved(items); items.Kind == yaml.SequenceNode {
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

// broken returns the document with the error of the YAML library.
func (d *document) broken(err error) []*document {
	if i := bytes.Index(d.text, braces); i >= 0 {
		line, column := place(d.text, i)
		return d.fail(Position{d.file, d.line + line + 1, column + 1}, unrendered)
	}
	at, message := d.position, err.Error()
	if m := parseError.FindStringSubmatch(message); m != nil {
		if line, err := strconv.Atoi(m[1]); err == nil {
			at.Line, at.Column = d.line+line, 1
		}
		message = m[2]
	}
	return d.fail(at, "this is no YAML: "+strings.ReplaceAll(message, "\n", " ")+": correct it")
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

// items returns the items of a List as documents of their own.
func (d *document) items(list *yaml.Node) []*document {
	var all []*document
	for _, item := range list.Content {
		budget := nodesMost
		root := expand(item, &budget)
		of := &document{file: d.file, line: d.line, column: d.column, media: yamlMedia, root: item, position: d.at(item)}
		switch {
		case budget < 0:
			of.fail(of.position, "the aliases of this item stand for more than an API server reads: write them out")
		case resolved(item).Kind != yaml.MappingNode:
			of.fail(of.position, "this item is no object: an object begins with its apiVersion and kind")
		default:
			of.root = resolved(item)
			var err error
			if of.text, err = yaml.Marshal(root); err != nil {
				of.fail(of.position, "this item is no YAML: "+err.Error()+": correct it")
				break
			}
			of.Object = Object{scalar(of.root, "apiVersion"), scalar(of.root, "kind"), scalar(of.root, "metadata", "namespace"),
				scalar(of.root, "metadata", "name")}
			if of.APIVersion == "" || of.Kind == "" {
				of.fail(of.position, "the item has no apiVersion and kind, so it is no manifest: take it out of the list")
			}
		}
		all = append(all, of)
	}
	return all
}

// nodesMost limits an item of a List after its aliases are replaced.
const nodesMost = 200_000

// expand returns a node with its aliases replaced by what they stand for: an item of a List is sent alone, without the
// anchors of the others. The result has no comments, and is cut when the budget is negative.
func expand(n *yaml.Node, budget *int) *yaml.Node {
	n = resolved(n)
	if *budget--; *budget < 0 {
		return n
	}
	c := &yaml.Node{Kind: n.Kind, Style: n.Style, Tag: n.Tag, Value: n.Value}
	for _, child := range n.Content {
		c.Content = append(c.Content, expand(child, budget))
	}
	return c
}
