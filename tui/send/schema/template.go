package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kx-apiserver/kx/core/request"
)

// nameless lists the groups whose objects have no name: the server answers them and does not store them.
var nameless = map[string]bool{"authentication.k8s.io": true, "authorization.k8s.io": true}

// Description describes the object of a template.
type Description struct {
	Kind            request.Kind
	Namespace, Name string
	Patch           request.PatchType // of a patch, which has less in it
}

// field is a line of a template, and those below it.
type field struct {
	name  string // empty for an item of a list
	value string // of a scalar, as YAML
	below []field
	list  bool // below are items
	off   bool // it is a comment, for whoever wants it
}

// Template writes an object of a kind: its required fields, the usual ones, and a comment for each field. It is valid
// as it stands where the schema, or the sample of the kind, has enough detail.
func (d *Document) Template(of Description) string {
	name := of.Name
	if name == "" {
		name = "example"
	}
	names := strings.NewReplacer("NAMESPACE", orElse(of.Namespace, "default"), "NAME", name)
	switch of.Patch {
	case request.JSONPatch:
		return "- op: add\n  path: /metadata/labels\n  value: {tried: \"yes\"}\n"
	case request.MergePatch, request.StrategicPatch:
		return "metadata:\n  labels:\n    tried: \"yes\"\n"
	}
	root := d.root(of.Kind)
	own := d.sampled(root, of.Kind, names)
	all := []field{{name: "apiVersion", value: scalar(of.Kind.APIVersion())}, {name: "kind", value: scalar(of.Kind.Kind)}}
	if at := slices.IndexFunc(own, func(f field) bool { return f.name == "metadata" }); at >= 0 {
		all = append(all, own[at])
		own = slices.Delete(own, at, at+1)
	} else if !nameless[of.Kind.Group] {
		all = append(all, metadata(name, of.Namespace))
	}
	w := &writer{d: d}
	w.fields(append(all, own...), root, 0)
	return w.b.String()
}

func (d *Document) root(kind request.Kind) *schema {
	if !d.Has(kind) {
		return &schema{Unknown: true}
	}
	return d.resolve(d.kinds[kind])
}

func metadata(name, namespace string) field {
	m := field{name: "metadata", below: []field{{name: "name", value: scalar(name)}}}
	if namespace != "" {
		m.below = append(m.below, field{name: "namespace", value: scalar(namespace)})
	}
	return m
}

// sampled returns the fields of an object without apiVersion and kind.
func (d *Document) sampled(root *schema, kind request.Kind, names *strings.Replacer) []field {
	text, known := request.Sample(kind)
	if !known {
		return d.generated(root, 0, nil)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(names.Replace(text)), &doc); err != nil || len(doc.Content) == 0 {
		return nil
	}
	return fromNode(doc.Content[0]).below
}

// fromNode makes fields of YAML.
func fromNode(n *yaml.Node) field {
	switch n.Kind {
	case yaml.MappingNode:
		f := field{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			child := fromNode(n.Content[i+1])
			child.name = n.Content[i].Value
			f.below = append(f.below, child)
		}
		return f
	case yaml.SequenceNode:
		f := field{list: true}
		for _, c := range n.Content {
			f.below = append(f.below, fromNode(c))
		}
		return f
	}
	if n.ShortTag() == "!!str" {
		return field{value: scalar(n.Value)}
	}
	return field{value: n.Value}
}

// Bounds of a template from a schema alone.
const (
	generateDeep = 8
	generateMost = 40 // fields of an object
	offDeep      = 1  // the depth to which optional fields are named: those of the object, and those of its spec
)

// generated returns a schema's required and optional fields. An optional field whose value may be invalid becomes a
// comment.
func (d *Document) generated(s *schema, depth int, above []*schema) []field {
	var all []field
	for _, name := range s.names() {
		if depth == 0 && slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, name) {
			continue
		}
		needed := slices.Contains(s.Required, name)
		if !needed && depth > offDeep || len(all) == generateMost {
			continue
		}
		property := s.Properties[name]
		resolved := d.resolve(property)
		if depth >= generateDeep || slices.Contains(above, property) {
			continue // it refers to itself
		}
		f := d.value(resolved, depth, append(slices.Clone(above), property))
		f.name = name
		f.off = !needed && !(name == "spec" && depth == 0) && !certain(resolved)
		all = append(all, f)
	}
	return all
}

// certain reports whether the generated value of a field is valid by its schema.
func certain(s *schema) bool {
	if len(s.Rules) > 0 || s.Pattern != "" && len(s.Default) == 0 {
		return false
	}
	types := s.types()
	return len(s.Default) > 0 && string(s.Default) != "{}" || len(s.Enum) > 0 ||
		len(types) == 1 && (types[0] == "boolean" || types[0] == "integer" || types[0] == "string" && s.Format == "")
}

// value generates the value of a field.
func (d *Document) value(s *schema, depth int, above []*schema) field {
	types := s.types()
	kind := "object"
	if len(types) > 0 {
		kind = types[0]
	}
	if len(s.Default) > 0 && json.Valid(s.Default) && string(s.Default) != "{}" {
		return field{value: string(s.Default)} // JSON is YAML
	}
	if len(s.Enum) > 0 {
		if data, err := json.Marshal(s.Enum[0]); err == nil {
			return field{value: string(data)}
		}
	}
	switch kind {
	case "integer", "number":
		if s.Minimum != nil {
			return field{value: fmt.Sprint(int64(*s.Minimum))}
		}
		return field{value: "1"}
	case "boolean":
		return field{value: "false"}
	case "string":
		return field{value: exampleText(s)}
	case "array":
		if s.MinItems != nil && *s.MinItems > 0 && s.Items != nil {
			return field{list: true, below: []field{d.value(d.resolve(s.Items), depth+1, above)}}
		}
		return field{value: "[]"}
	}
	if below := d.generated(s, depth+1, above); len(below) > 0 {
		return field{below: below}
	}
	return field{value: "{}"}
}

func exampleText(s *schema) string {
	switch s.Format {
	case "date-time":
		return `"2026-01-01T00:00:00Z"`
	case "date":
		return `"2026-01-01"`
	case "byte":
		return `"dmFsdWU="`
	}
	text := "example"
	if s.MinLength != nil && *s.MinLength > len(text) {
		text += strings.Repeat("x", min(*s.MinLength-len(text), 256))
	}
	if s.MaxLength != nil && *s.MaxLength < len(text) {
		text = text[:max(*s.MaxLength, 0)]
	}
	return scalar(text)
}

// scalar writes text as one word of YAML.
func scalar(text string) string {
	if strings.Contains(text, "\n") {
		return strconv.Quote(text)
	}
	out, err := yaml.Marshal(text) // quotes words that YAML 1.1 reads differently
	if err != nil {
		return `""`
	}
	return strings.TrimSuffix(string(out), "\n")
}

// writer writes fields as YAML with comments.
type writer struct {
	d *Document
	b strings.Builder
}

func (w *writer) fields(all []field, s *schema, indent int) {
	anyOn := false
	for _, f := range all {
		anyOn = anyOn || !f.off
	}
	for _, f := range all {
		w.field(f, property(s, f.name), slices.Contains(s.Required, f.name), indent, "")
	}
	if !anyOn && indent > 0 {
		w.b.WriteString(strings.Repeat(" ", indent) + "{}\n") // comments alone would be null
	}
}

// property returns the schema of a field, or nil.
func property(s *schema, name string) *schema {
	if p := s.Properties[name]; p != nil {
		return p
	}
	if s.Additional != nil {
		return s.Additional.schema
	}
	return nil
}

// field writes one field and the fields below it. lead stands before its name: a dash for the first field of an item.
func (w *writer) field(f field, of *schema, needed bool, indent int, lead string) {
	var s *schema
	comment := ""
	if of != nil {
		s = w.d.resolve(of)
		if indent > 0 || !slices.Contains([]string{"apiVersion", "kind", "metadata"}, f.name) {
			comment = w.comment(s, needed) // those need no comment
		}
	} else {
		s = &schema{Unknown: true}
	}
	start := strings.Repeat(" ", indent)
	if lead != "" {
		start = start[:indent-2] + lead
	}
	if f.off {
		fmt.Fprintf(&w.b, "%s# %s: %s%s\n", start, scalar(f.name), f.offValue(), comment)
		return
	}
	switch {
	case f.list:
		fmt.Fprintf(&w.b, "%s%s:%s\n", start, scalar(f.name), comment)
		w.items(f.below, w.d.resolve(s.Items), indent)
	case len(f.below) > 0:
		fmt.Fprintf(&w.b, "%s%s:%s\n", start, scalar(f.name), comment)
		w.fields(f.below, s, indent+2)
	default:
		fmt.Fprintf(&w.b, "%s%s: %s%s\n", start, scalar(f.name), orElse(f.value, "{}"), comment)
	}
}

func (f *field) offValue() string {
	if f.list || len(f.below) > 0 {
		return "{}"
	}
	return f.value
}

// items writes a list: its dashes stand below the name, as kubectl writes them.
func (w *writer) items(all []field, s *schema, indent int) {
	for _, item := range all {
		if len(item.below) == 0 {
			fmt.Fprintf(&w.b, "%s- %s\n", strings.Repeat(" ", indent), orElse(item.value, "{}"))
			continue
		}
		for i, f := range item.below {
			lead := ""
			if i == 0 {
				lead = "- "
			}
			w.field(f, property(s, f.name), slices.Contains(s.Required, f.name), indent+2, lead)
		}
	}
}

// commentMost limits the width of a comment.
const commentMost = 72

// comment describes a field.
func (w *writer) comment(s *schema, needed bool) string {
	text := w.d.describe(s)
	if needed {
		text += ", required"
	}
	said := strings.Join(strings.Fields(s.Description), " ")
	if end := strings.Index(said, ". "); end >= 0 {
		said = said[:end]
	}
	if said = strings.TrimSuffix(said, "."); said != "" {
		text += ": " + said
	}
	if runes := []rune(text); len(runes) > commentMost {
		text = strings.TrimRight(string(runes[:commentMost-1]), " ,") + "…"
	}
	return "  # " + text
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
