package object

import (
	"encoding/json"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// PartialJSON cuts the object's metadata out of its JSON: a PartialObjectMetadata of gv as an encoder writes it,
// without the final newline. If it is not ok, the object must be decoded and its metadata encoded.
func (e *Encoded) PartialJSON(gv schema.GroupVersion) (data []byte, ok bool) {
	object, _, ok := e.JSON()
	if !ok {
		return nil, false
	}
	s := scanner{data: object}
	if !s.descend("metadata") {
		return nil, false
	}
	out := make([]byte, 0, partialBytes)
	out = append(append(append(out, partialHead...), gv.Version...), `","metadata":`...)
	if out, ok = metaFields.reorder(out, &s); !ok {
		return nil, false
	}
	return append(out, '}'), true
}

// Metadata decodes the object's metadata alone. It is not ok if the whole object is decoded already, or has to be.
func (e *Encoded) Metadata() (partial *metav1.PartialObjectMetadata, ok bool) {
	p := e.bytes.Load()
	if p == nil || e.isDecoded() {
		return nil, false
	}
	partial = &metav1.PartialObjectMetadata{}
	if _, raw, _, err := CutRaw(p.data); err == nil {
		// In protobuf the metadata has the same field number in every type. All other fields are skipped.
		if partial.Unmarshal(raw) != nil || partial.Name == "" {
			return nil, false
		}
		partial.ResourceVersion = strconv.FormatInt(e.revision, 10)
		return partial, true
	}
	data, ok := e.PartialJSON(metav1.SchemeGroupVersion)
	return partial, ok && json.Unmarshal(data, partial) == nil
}

func (e *Encoded) isDecoded() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.decoded.Value() != nil
}

// partialBytes is enough for most.
const partialBytes = 1 << 10

const partialHead = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/`

// goFields are the fields of a Go type in the order of encoding/json, each with how its value is written.
type goFields []goField

type goField struct {
	name string
	// write appends a value. It returns false if encoding the type would write the value differently or leave it out.
	write func(out, value []byte) ([]byte, bool)
	// always says that the field is written even if it is empty, so it must be there.
	always bool
}

var (
	metaFields = goFields{
		{name: "name", write: asIs}, {name: "generateName", write: asIs}, {name: "namespace", write: asIs}, {name: "selfLink",
			write: asIs}, {name: "uid", write: asIs},
		{name: "resourceVersion", write: asIs}, {name: "generation", write: asIs}, {name: "creationTimestamp",
			write: moment}, {name: "deletionTimestamp", write: moment},
		{name: "deletionGracePeriodSeconds", write: integer}, {name: "labels", write: asIs}, {name: "annotations",
			write: asIs}, {name: "ownerReferences", write: list(ownerFields)},
		{name: "finalizers", write: asIs}, {name: "managedFields", write: list(managerFields)},
	}
	ownerFields = goFields{
		{name: "apiVersion", write: asIs, always: true}, {name: "kind", write: asIs, always: true}, {name: "name", write: asIs,
			always: true}, {name: "uid", write: asIs, always: true}, {name: "controller", write: asIs},
		{name: "blockOwnerDeletion", write: asIs},
	}
	managerFields = goFields{
		{name: "manager", write: asIs}, {name: "operation", write: asIs}, {name: "apiVersion", write: asIs}, {name: "time",
			write: moment}, {name: "fieldsType", write: asIs},
		{name: "fieldsV1", write: asIs}, {name: "subresource", write: asIs},
	}
)

// asIs writes a value that is not empty.
func asIs(out, value []byte) ([]byte, bool) {
	switch string(value) {
	case `""`, "0", "null", "{}", "[]":
		return out, false
	}
	return append(out, value...), true
}

func integer(out, value []byte) ([]byte, bool) { return append(out, value...), string(value) != "null" }

// moment writes a time that has the form in which times are encoded.
func moment(out, value []byte) ([]byte, bool) {
	const form = `"0000-00-00T00:00:00Z"`
	if len(value) != len(form) {
		return out, false
	}
	for i := range len(form) {
		digit := value[i] >= '0' && value[i] <= '9'
		if digit != (form[i] == '0') || !digit && value[i] != form[i] {
			return out, false
		}
	}
	return append(out, value...), true
}

// list writes a list of objects with fields.
func list(fields goFields) func(out, value []byte) ([]byte, bool) {
	return func(out, value []byte) ([]byte, bool) {
		s := scanner{data: value}
		if !s.byte('[') || s.byte(']') {
			return out, false
		}
		out = append(out, '[')
		for {
			var ok bool
			if out, ok = fields.reorder(out, &s); !ok {
				return out, false
			}
			if s.byte(']') {
				return append(out, ']'), true
			}
			if !s.byte(',') {
				return out, false
			}
			out = append(out, ',')
		}
	}
}

// maxFields is more than any of the types has.
const maxFields = 16

// reorder reads a canonical object and writes its fields in this order.
func (f goFields) reorder(out []byte, s *scanner) ([]byte, bool) {
	var values [maxFields][]byte
	ok := s.object(0, func(key []byte) bool {
		start := s.pos
		if !s.skip() {
			return false
		}
		for i := range f {
			if f[i].name == string(key) {
				values[i] = s.data[start:s.pos]
				return true
			}
		}
		return false
	})
	if !ok {
		return out, false
	}
	out = append(out, '{')
	first := true
	for i := range f {
		if values[i] == nil {
			if f[i].always {
				return out, false
			}
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(append(append(out, '"'), f[i].name...), `":`...)
		if out, ok = f[i].write(out, values[i]); !ok {
			return out, false
		}
	}
	return append(out, '}'), true
}

// Lookup finds the value at a path of names in canonical JSON, such as that of [Encoded.JSON]. It reads no further than
// that.
func Lookup(data []byte, path ...string) (value []byte, found bool) {
	s := scanner{data: data}
	for _, name := range path {
		if !s.descend(name) {
			return nil, false
		}
	}
	start := s.pos
	if !s.skip() {
		return nil, false
	}
	return data[start:s.pos], true
}

// skip passes a value, which is known to be canonical.
func (s *scanner) skip() bool { return s.skipRest(0) }

// skipRest passes what remains of a value, inside as many braces and brackets of it.
func (s *scanner) skipRest(depth int) bool {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case '"':
			s.skipString()
		case '{', '[':
			depth++
			s.pos++
			continue
		case '}', ']':
			depth--
			s.pos++
		case ',', ':':
			s.pos++
			continue
		default:
			s.skipLiteral()
		}
		if depth == 0 {
			return s.pos <= len(s.data)
		}
	}
	return false
}

func (s *scanner) skipString() {
	for s.pos++; s.pos < len(s.data); s.pos++ {
		switch s.data[s.pos] {
		case '\\':
			s.pos++
		case '"':
			s.pos++
			return
		}
	}
}

// skipLiteral passes a number, true, false or null.
func (s *scanner) skipLiteral() {
	for s.pos++; s.pos < len(s.data) && !contains(",}]\n", s.data[s.pos]); s.pos++ {
	}
}

// descend moves to the value of a name in an object.
func (s *scanner) descend(name string) (found bool) {
	s.object(0, func(key []byte) bool {
		order := compareName(key, name)
		found = order == 0
		// Keys are sorted: the name can't follow a greater one.
		return order < 0 && s.skip()
	})
	return found
}
