package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/filter"
)

// Expectations is the kind of documents with rows, and ExpectationsVersion its version.
const (
	Expectations        = "Expectations"
	ExpectationsVersion = "kx.dev/v1alpha1"
)

// isTable reports whether a document has rows instead of an object.
func isTable(d *document) bool {
	return d.Kind == Expectations && (d.group() == "kx.dev" || d.APIVersion == "")
}

// row is a request, and what the server is to answer.
type row struct {
	title string
	table *document
	// node is the mapping of the row, and keys has the nodes of its keys.
	node *yaml.Node
	keys map[string]*yaml.Node
	operation
	by *user
	// document is the object that is sent, and old the one that is there before, if the row brings it.
	document, old *document
	// accepted is true if no refusal is expected. exact is true if changes has all that the server is to change in
	// the object.
	accepted, exact bool
	changes         map[string]any
	// refused and warnings are parts of the texts that are expected.
	refused, warnings []*yaml.Node
}

// operation is the verb of a row.
type operation string

const (
	create operation = "create"
	update operation = "update"
	remove operation = "delete"
)

// user sends a row.
type user struct {
	name   string
	groups []string
}

// table reads the rows of a document.
type table struct {
	*document
	rows     []*row
	problems []Finding
	by       *user
	base     *yaml.Node
}

// readTable returns the rows of a document, and what is wrong with it.
func readTable(d *document) *table {
	t := &table{document: d}
	_, values := t.fields(d.root, "a document of expectations", "apiVersion", "kind", "as", "base", "rows")
	if d.APIVersion != ExpectationsVersion {
		t.problem(d.root, "a document of expectations has the apiVersion %s", ExpectationsVersion)
	}
	t.by, t.base = t.user(values["as"]), values["base"]
	if values["rows"] == nil || values["rows"].Kind != yaml.SequenceNode {
		t.problem(cmp.Or(values["rows"], d.root), "rows has to be a list of rows")
		return t
	}
	for i, n := range values["rows"].Content {
		before := len(t.problems)
		if r := t.row(aliasTarget(n), i); len(t.problems) == before {
			t.rows = append(t.rows, r)
		}
	}
	return t
}

func (t *table) problem(n *yaml.Node, format string, args ...any) {
	t.problems = append(t.problems, Finding{Level: Failure, Position: t.at(n), Message: fmt.Sprintf(format, args...)})
}

// fields returns the keys and values of a mapping that may have only the known keys.
func (t *table) fields(n *yaml.Node, what string, known ...string) (keys, values map[string]*yaml.Node) {
	keys, values = map[string]*yaml.Node{}, map[string]*yaml.Node{}
	if n.Kind != yaml.MappingNode {
		t.problem(n, "%s has to be a mapping with some of %s", what, strings.Join(known, ", "))
		return keys, values
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case !slices.Contains(known, key.Value):
			hint := "it may have " + strings.Join(known, ", ")
			if near := filter.Near(key.Value, known); len(near) > 0 {
				hint = "did you mean " + strings.Join(near, " or ") + "?"
			}
			t.problem(key, "%s has no field %q: %s", what, key.Value, hint)
		case keys[key.Value] != nil:
			t.problem(key, "%s has the field %q twice: take one out", what, key.Value)
		default:
			keys[key.Value], values[key.Value] = key, aliasTarget(n.Content[i+1])
		}
	}
	return keys, values
}

// user returns the user of a field that may be missing.
func (t *table) user(n *yaml.Node) *user {
	if n == nil {
		return nil
	}
	_, values := t.fields(n, "as", "user", "groups")
	by := &user{}
	if by.name = scalarOf(values["user"]); by.name == "" {
		t.problem(n, "as needs the name of a user: a group alone sends no requests")
	}
	for _, group := range t.texts(values["groups"], "groups") {
		by.groups = append(by.groups, group.Value)
	}
	return by
}

func scalarOf(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

// texts returns the items of a field that is one text or a list of texts.
func (t *table) texts(n *yaml.Node, what string) (all []*yaml.Node) {
	if n == nil {
		return nil
	}
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	for _, item := range items {
		if item = aliasTarget(item); scalarOf(item) == "" {
			t.problem(item, "%s has to be a text or a list of texts", what)
			continue
		}
		all = append(all, item)
	}
	return all
}

// row reads a row.
func (t *table) row(n *yaml.Node, index int) *row {
	r := &row{table: t.document, node: n, title: fmt.Sprintf("row %d", index+1), by: t.by}
	var values map[string]*yaml.Node
	r.keys, values = t.fields(n, "a row", "name", "as", "operation", "old", "object", "accepted", "refused", "warnings")
	if name := scalarOf(values["name"]); name != "" {
		r.title = name
	}
	if by := values["as"]; by != nil {
		r.by = t.user(by)
	}
	r.operation = t.operation(values)
	if old := values["old"]; old != nil {
		r.old = t.object(old)
	}
	switch object := values["object"]; {
	case r.operation == remove && r.old != nil && object != nil:
		t.problem(object, "a row that deletes has one object: old, or one that the set has")
	case r.operation == remove && r.old != nil:
		r.document = r.old
	case object == nil && t.base == nil:
		t.problem(n, "the row has no object, and the document no base: add object")
	default:
		r.document = t.object(object)
	}
	t.answer(r, values)
	return r
}

// operation returns what a row does: it creates an object unless it says otherwise or has an old one.
func (t *table) operation(values map[string]*yaml.Node) operation {
	all := []string{string(create), string(update), string(remove)}
	switch n := values["operation"]; {
	case n == nil && values["old"] != nil:
		return update
	case n == nil:
		return create
	case !slices.Contains(all, scalarOf(n)):
		hint := strings.Join(all, ", ")
		if near := filter.Near(n.Value, all); len(near) > 0 {
			hint = strings.Join(near, " or ")
		}
		t.problem(n, "there is no operation %q: use %s", n.Value, hint)
		return create
	default:
		if operation(n.Value) == create && values["old"] != nil {
			t.problem(values["old"], "a row that creates has no old object: the operation is update")
		}
		return operation(n.Value)
	}
}

// answer reads what a row expects.
func (t *table) answer(r *row, values map[string]*yaml.Node) {
	r.refused, r.warnings = t.texts(values["refused"], "refused"), t.texts(values["warnings"], "warnings")
	n := values["accepted"]
	switch {
	case n == nil:
		return
	case values["refused"] != nil:
		t.problem(r.keys["refused"], "a row expects accepted or refused, not both")
	case n.Kind == yaml.MappingNode:
		r.exact = true
		var err error
		if r.changes, err = contents(n); err != nil {
			t.problem(n, "accepted can't be read: %v", err)
		}
	case n.Tag != "!!bool" || n.Value != "true":
		t.problem(n, "accepted has to be true, or what the server changes in the object: what is not accepted is refused")
	}
	r.accepted = true
}

// object returns the object of a field: the mapping there, or the file that it names, merged into the base.
func (t *table) object(n *yaml.Node) *document {
	object := map[string]any{}
	from := t.base
	for _, part := range []*yaml.Node{t.base, n} {
		if part == nil {
			continue
		}
		from = part
		next, err := t.read(part)
		if err != nil {
			t.problem(part, "%v", err)
			return nil
		}
		merge(object, next)
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.problem(from, "the object can't be written: %v", err)
		return nil
	}
	all := newDocument(part{text: text}, t.file, runtime.ContentTypeJSON)
	if len(all) != 1 || all[0].failure != nil {
		t.problem(from, "this is no object: an object has an apiVersion and a kind")
		return nil
	}
	source := *t.document
	source.root, source.position = from, t.at(from)
	all[0].source, all[0].position = &source, source.position
	return all[0]
}

// read returns the contents of a mapping, or of the file that a text names.
func (t *table) read(n *yaml.Node) (map[string]any, error) {
	if n.Kind == yaml.MappingNode {
		return contents(n)
	}
	name := scalarOf(n)
	if name == "" {
		return nil, fmt.Errorf("an object is a mapping, or the name of a file")
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(t.file), name)
	}
	in := &reader{}
	in.file(name)
	if len(in.documents) != 1 {
		return nil, fmt.Errorf("%s has %d documents: a row takes a file with one", name, len(in.documents))
	}
	d := in.documents[0]
	if d.failure != nil {
		return nil, fmt.Errorf("%s: %s", d.failure.Position, d.failure.Message)
	}
	object := map[string]any{}
	data, err := sigsyaml.YAMLToJSON(d.text)
	if err == nil {
		err = utiljson.Unmarshal(data, &object)
	}
	return object, err
}

// contents returns a mapping as the API server would read it.
func contents(n *yaml.Node) (map[string]any, error) {
	budget := nodesMost
	whole := expand(n, &budget)
	if budget < 0 {
		return nil, fmt.Errorf("the aliases stand for more than an API server reads: write them out")
	}
	data, err := yaml.Marshal(whole)
	if err != nil {
		return nil, err
	}
	if data, err = sigsyaml.YAMLToJSON(data); err != nil {
		return nil, err
	}
	object := map[string]any{}
	return object, utiljson.Unmarshal(data, &object)
}

// merge changes an object as a JSON merge patch says.
func merge(object, patch map[string]any) {
	for key, value := range patch {
		inner, ok := value.(map[string]any)
		switch {
		case value == nil:
			delete(object, key)
		case ok:
			below, _ := object[key].(map[string]any)
			if below == nil {
				below = map[string]any{}
			}
			merge(below, inner)
			object[key] = below
		default:
			object[key] = value
		}
	}
}

// difference returns the JSON merge patch that makes after of before.
func difference(before, after map[string]any) map[string]any {
	patch := map[string]any{}
	for key := range before {
		if _, ok := after[key]; !ok {
			patch[key] = nil
		}
	}
	for key, value := range after {
		was, there := before[key]
		inner, ok := value.(map[string]any)
		below, both := was.(map[string]any)
		switch {
		case ok && both:
			if of := difference(below, inner); len(of) > 0 {
				patch[key] = of
			}
		case !there || !same(was, value):
			patch[key] = value
		}
	}
	return patch
}

// same reports whether two values are the same JSON.
func same(a, b any) bool {
	left, err := json.Marshal(a)
	right, failed := json.Marshal(b)
	return err == nil && failed == nil && bytes.Equal(left, right)
}
