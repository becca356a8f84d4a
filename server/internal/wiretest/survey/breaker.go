package survey

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
)

// change is a change of an object, whichever way it is sent.
type change struct {
	kind Kind
	at   string
	to   json.RawMessage
}

// breaker collects the changes of one object.
type breaker struct {
	changes []change
	// wholeTemplate asks for pod templates in full: elsewhere they get what shows that they are looked at.
	wholeTemplate bool
	// wholeMetadata asks for the object's metadata in full, beyond its name.
	wholeMetadata bool
}

// breakObject makes the changes of an object of type t, each member of the object in turn.
func (b *breaker) breakObject(t reflect.Type, object any) {
	for _, f := range fieldsOf(t) {
		switch f.name {
		case "apiVersion", "kind": // they decide where the object is sent to
		case "metadata":
			b.metadata(member(object, "metadata"), "/metadata")
		case "status":
			b.status(f.typ, object)
		default:
			b.field(f.typ, object, f.name, "", false)
		}
	}
}

// status is broken in its fields even if the object has none: the server puts an empty one there.
func (b *breaker) status(t reflect.Type, object any) {
	b.field(t, object, "status", "", false)
	if member(object, "status") == nil && indirect(t).Kind() == reflect.Struct {
		for _, f := range fieldsOf(indirect(t)) {
			b.field(f.typ, map[string]any{}, f.name, "/status", false)
		}
	}
}

func (b *breaker) add(kind Kind, at string, to any) {
	b.changes = append(b.changes, change{kind, at, render(to)})
}

// field breaks a field of the struct at a pointer. A shallow one is broken only as far as it has no fields of its own.
func (b *breaker) field(t reflect.Type, holder any, name, at string, shallow bool) {
	held, _ := holder.(map[string]any)
	value, present := held[name]
	at, t = below(at, name), indirect(t)
	_, scalar := variantsOf(t)
	switch {
	case present:
		b.changes = append(b.changes, change{Removed, at, nil})
		b.value(t, value, at, shallow)
	case scalar || !shallow:
		b.absent(t, at)
	}
}

// absent adds what is not there.
func (b *breaker) absent(t reflect.Type, at string) {
	if v, scalar := variantsOf(t); scalar {
		b.changes = append(b.changes, change{Added, at, json.RawMessage(v.good)})
		for _, bad := range v.bad {
			b.changes = append(b.changes, change{Bad, at, json.RawMessage(bad)})
		}
		return
	}
	b.add(Emptied, at, empty(t))
	b.add(Added, at, minimal(t, 4))
	switch t.Kind() {
	case reflect.Slice:
		b.add(Appended, at, []any{empty(t.Elem())})
	case reflect.Map:
		b.add(Bad, at, map[string]any{"Bad Key!": minimal(t.Elem(), 4)})
	}
}

// value breaks a value that is there.
func (b *breaker) value(t reflect.Type, value any, at string, shallow bool) {
	t = indirect(t)
	if v, scalar := variantsOf(t); scalar {
		b.scalar(t, v, value, at)
		return
	}
	if t == objectMeta {
		b.metadata(value, at)
		return
	}
	b.add(Emptied, at, empty(t))
	shallow = shallow || t == podTemplate && !b.wholeTemplate
	switch held := value.(type) {
	case []any:
		b.list(t, held, at, shallow)
	case map[string]any:
		if t.Kind() == reflect.Map {
			b.keys(t, held, at, shallow)
			return
		}
		for _, f := range fieldsOf(t) {
			b.field(f.typ, value, f.name, at, shallow)
		}
	}
}

func (b *breaker) scalar(t reflect.Type, v variants, value any, at string) {
	for _, bad := range v.bad {
		b.changes = append(b.changes, change{Bad, at, json.RawMessage(bad)})
	}
	if t.Kind() != reflect.String {
		b.changes = append(b.changes, change{Changed, at, json.RawMessage(v.good)})
		return
	}
	b.add(Emptied, at, "")
	b.add(Long, at, "<<x*64>>")
	b.add(Long, at, "<<x*254>>")
	if was, is := value.(string); is {
		b.add(Changed, at, was+"x")
	}
}

func (b *breaker) list(t reflect.Type, list []any, at string, shallow bool) {
	b.add(Appended, at+"/-", empty(t.Elem()))
	for i, element := range list {
		if i == 0 {
			b.add(Doubled, at+"/-", element)
		}
		if i == 0 && len(list) > 1 {
			b.changes = append(b.changes, change{Removed, at + "/0", nil})
		}
		if i > 0 && shallow {
			break
		}
		b.value(t.Elem(), element, below(at, strconv.Itoa(i)), shallow)
	}
}

func (b *breaker) keys(t reflect.Type, held map[string]any, at string, shallow bool) {
	b.add(Bad, below(at, "Bad Key!"), minimal(t.Elem(), 4))
	b.add(Bad, below(at, ""), minimal(t.Elem(), 4))
	b.add(Long, below(at, "<<x*254>>"), minimal(t.Elem(), 4))
	b.add(Added, below(at, "added"), minimal(t.Elem(), 4))
	for i, key := range slices.Sorted(keysOf(held)) {
		b.changes = append(b.changes, change{Removed, below(at, key), nil})
		if i > 0 && shallow {
			break
		}
		b.value(t.Elem(), held[key], below(at, key), shallow)
	}
}

// metadata breaks what clients write of metadata. Who owns which field is left out: the answers to whole objects show
// it.
func (b *breaker) metadata(value any, at string) {
	fields := []string{"name"}
	switch {
	case at != "/metadata":
		fields = []string{"name", "labels", "annotations"}
	case b.wholeMetadata:
		fields = []string{"name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences",
			"uid", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}
	}
	for _, name := range fields {
		b.field(fieldType(objectMeta, name), value, name, at, false)
	}
	if !slices.Contains(fields, "generateName") || at != "/metadata" {
		return
	}
	for _, name := range []string{"UPPER", "a.b", "a_b", "1a", "a/b", "a:b", "-", ".."} {
		b.add(Bad, at+"/name", name)
	}
}
