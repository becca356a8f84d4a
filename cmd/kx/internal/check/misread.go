package check

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
)

// misread finds the value about which a decoder complains without its field, such as a quantity or a time. It reads
// each scalar again as the type of its field, until one gives the same error.
type misread struct {
	message string
	// seen has what was looked at already: aliases can make a document endless.
	seen map[seenNode]bool
}

type seenNode struct {
	node *yaml.Node
	as   reflect.Type
}

// misreadField returns the field of a built-in object to which a decoder's message belongs, and its node. Without such
// a field, the node is nil.
func (d *document) misreadField(message string) (path string, at *yaml.Node) {
	in := d.origin()
	object, err := scheme.Scheme.New(d.groupVersionKind())
	if err != nil || in.root == nil {
		return "", nil // custom resources have no Go type; the messages about them have fields
	}
	m := &misread{message: message, seen: map[seenNode]bool{}}
	return m.below("", in.root, in.root, reflect.TypeOf(object))
}

// below searches value, which is read as a type. at is the node that stands for value.
func (m *misread) below(path string, at, value *yaml.Node, as reflect.Type) (string, *yaml.Node) {
	value = aliasTarget(value)
	for as.Kind() == reflect.Pointer {
		as = as.Elem()
	}
	look := seenNode{value, as}
	if m.seen[look] {
		return "", nil
	}
	m.seen[look] = true
	switch {
	case value.Kind == yaml.ScalarNode && m.complains(value, as):
		return path, at
	case value.Kind == yaml.SequenceNode && as.Kind() == reflect.Slice:
		for i, item := range value.Content {
			if field, found := m.below(fmt.Sprintf("%s[%d]", path, i), item, item, as.Elem()); found != nil {
				return field, found
			}
		}
	case value.Kind == yaml.MappingNode && (as.Kind() == reflect.Struct || as.Kind() == reflect.Map):
		return m.entries(path, value, as)
	}
	return "", nil
}

func (m *misread) entries(path string, mapping *yaml.Node, as reflect.Type) (string, *yaml.Node) {
	var fields map[string]reflect.Type
	if as.Kind() == reflect.Struct {
		fields = jsonFields(as)
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if key.Tag == "!!merge" {
			merged := []*yaml.Node{value}
			if several := aliasTarget(value); several.Kind == yaml.SequenceNode {
				merged = several.Content
			}
			for _, one := range merged {
				if field, found := m.below(path, key, one, as); found != nil {
					return field, found
				}
			}
			continue
		}
		inner, of := fmt.Sprintf("%s[%s]", path, key.Value), reflect.Type(nil)
		if as.Kind() == reflect.Map {
			of = as.Elem()
		} else {
			inner, of = strings.TrimPrefix(path+"."+key.Value, "."), fields[key.Value]
		}
		if of == nil {
			continue
		}
		if field, found := m.below(inner, key, value, of); found != nil {
			return field, found
		}
	}
	return "", nil
}

// complains reports whether a scalar that is read as a type gives the error of the message.
func (m *misread) complains(scalar *yaml.Node, as reflect.Type) bool {
	text := []byte(scalar.Value)
	if scalar.Tag == "!!str" || scalar.Tag == "!!timestamp" || !json.Valid(text) {
		text, _ = json.Marshal(scalar.Value)
	}
	err := json.Unmarshal(text, reflect.New(as).Interface())
	return err != nil && strings.HasSuffix(m.message, ": "+err.Error())
}

// jsonFields returns the types of a struct's fields, and of those that are embedded in it, by their names in JSON.
func jsonFields(of reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = f.Type
		}
	}
	return fields
}
