package lines

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Document is a YAML document.
type Document struct {
	root *yaml.Node
	// above counts the lines of its file before it.
	above int
}

// NewDocument reads a document.
func NewDocument(data []byte) Document {
	var file yaml.Node
	switch {
	case yaml.Unmarshal(data, &file) != nil:
		return Document{} // the decoder says why
	case len(file.Content) == 0:
		return Document{root: &yaml.Node{Kind: yaml.MappingNode, Line: 1}}
	}
	return Document{root: file.Content[0]}
}

// Error returns err, which is about this data, with the line of each field that it names.
func Error(data []byte, err error) error {
	if err == nil {
		return nil
	}
	return NewDocument(data).Error(err)
}

// Below returns the same document in a file in which so many lines are before it.
func (d Document) Below(lines int) Document {
	d.above += lines
	return d
}

// In returns what a field of the document holds, such as "plugins[0].configuration".
func (d Document) In(path string) Document {
	if d.root != nil {
		d.root = find(d.root, path)
	}
	return d
}

// Value returns what a field of the document itself holds, and whether there is one.
func (d Document) Value(name string) (value string, ok bool) {
	if d.root == nil {
		return "", false
	}
	node := child(d.root, name)
	if node == nil {
		return "", false
	}
	return node.Value, true
}

// Readable says whether the document is YAML.
func (d Document) Readable() bool { return d.root != nil }

// At returns the line of a field for a message, such as "line 7: ".
func (d Document) At(path string) string {
	if d.root == nil {
		return ""
	}
	return fmt.Sprintf("line %d: ", find(d.root, path).Line+d.above)
}

// Error returns err with the line of each field that it names.
func (d Document) Error(err error) error {
	if err == nil || d.root == nil {
		return err
	}
	var texts []string
	for _, one := range parts(err) {
		texts = append(texts, d.one(one))
	}
	return errors.New(strings.Join(texts, "; "))
}

// parts are the errors that err is made of.
func parts(err error) (all []error) {
	var of []error
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		of = strict.Errors()
	} else if several, ok := err.(utilerrors.Aggregate); ok { //nolint:errorlint // what wraps one has words of its own
		of = several.Errors()
	} else if several, ok := err.(interface{ Unwrap() []error }); ok &&
		err.Error() == errors.Join(several.Unwrap()...).Error() { //nolint:errorlint // as above
		of = several.Unwrap()
	} else {
		return []error{err}
	}
	for _, one := range of {
		all = append(all, parts(one)...)
	}
	return all
}

var (
	hasLine = regexp.MustCompile(`\bline \d+`)
	// unknown and mistyped find the field in messages of decoders, begins in those of validation.
	unknown  = regexp.MustCompile(`^(?:strict decoding error: )?(?:unknown|duplicate) field "([^"]+)"`)
	mistyped = regexp.MustCompile(`into Go struct field [^.\s]+\.(\S+) of type`)
	begins   = regexp.MustCompile(`^([A-Za-z]\w*(?:\.\w+|\[[^\]\s]*\])*): `)
)

// one is the text of an error that names at most one field.
func (d Document) one(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	var bad *field.Error
	if errors.As(err, &bad) {
		return d.At(bad.Field) + text
	}
	if hasLine.MatchString(text) {
		return text
	}
	for _, by := range []*regexp.Regexp{unknown, mistyped} {
		if found := by.FindStringSubmatch(text); found != nil {
			return d.At(found[1]) + found[1] + ": " + text
		}
	}
	if found := begins.FindStringSubmatch(text); found != nil && d.knows(found[1]) {
		return d.At(found[1]) + text
	}
	return text
}

// knows says whether the first word of a message is a field of the document.
func (d Document) knows(path string) bool {
	first := split(path)[0]
	return first == "kind" || first == "apiVersion" || child(d.root, first) != nil
}

// find returns the node of a field, or that of the object or list that lacks it.
func find(at *yaml.Node, path string) *yaml.Node {
	for _, part := range split(path) {
		next := child(at, part)
		if next == nil {
			break
		}
		at = next
	}
	return at
}

// split returns the names and indices of a path, such as "a.b[0].c[d.e/f]".
func split(path string) (names []string) {
	for path != "" {
		var name string
		if rest, bracketed := strings.CutPrefix(path, "["); bracketed {
			name, path, _ = strings.Cut(rest, "]")
		} else {
			path = strings.TrimPrefix(path, ".")
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			name, path = path[:end], path[end:]
		}
		names = append(names, name)
	}
	return names
}

// child returns the field or the item of a node, nil if there is none.
func child(of *yaml.Node, name string) *yaml.Node {
	if of.Kind == yaml.AliasNode {
		of = of.Alias
	}
	switch of.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(of.Content); i += 2 {
			if of.Content[i].Value == name {
				return of.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(of.Content) {
			return of.Content[i]
		}
	}
	return nil
}
