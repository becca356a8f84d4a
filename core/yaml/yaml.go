package yaml

import (
	"bytes"
	"errors"
	"slices"
	"sync"

	sigsyaml "sigs.k8s.io/yaml"
)

// FromJSON is a JSON document as YAML.
func FromJSON(data []byte) ([]byte, error) {
	return AppendJSON(nil, data)
}

// AppendJSON appends a JSON document as YAML to out, which ends where a line does.
func AppendJSON(out, data []byte) ([]byte, error) {
	w := writers.Get().(*writer)
	defer w.release()
	with, err := w.append(slices.Grow(out, len(data)+len(data)/8), data)
	if err == nil {
		return with, nil
	}
	whole, err := sigsyaml.JSONToYAML(data)
	return append(out, whole...), err
}

// errRare says that a document has something that is left to the library.
var errRare = errors.New("a rare document")

// writer writes one document after another.
type writer struct {
	tape
	out  []byte
	keys []int32 // of the objects that are written: those inside others at the end
	text []byte
}

var writers = sync.Pool{New: func() any { return &writer{} }}

// keptValues is the capacity of a pooled writer, in values of a document.
const keptValues = 4096

func (w *writer) release() {
	w.in, w.out = nil, nil
	if cap(w.values) > keptValues || cap(w.keys) > keptValues || cap(w.text)+cap(w.unescaped) > 16*keptValues {
		return
	}
	writers.Put(w)
}

func (w *writer) append(out, data []byte) ([]byte, error) {
	if err := w.read(data); err != nil {
		return nil, err
	}
	if root := w.values[0]; root.kind != '{' || root.next == 1 {
		return nil, errRare
	}
	w.out, w.keys = out, w.keys[:0]
	if err := w.object(0, 0); err != nil {
		return nil, err
	}
	w.endLine()
	return w.out, nil
}

// endLine ends the line, unless a text in lines has done so.
func (w *writer) endLine() {
	if n := len(w.out); n > 0 && w.out[n-1] != '\n' {
		w.out = append(w.out, '\n')
	}
}

const spaces = "                                                                "

// indent begins a line.
func (w *writer) indent(n int) {
	w.endLine()
	for ; n > len(spaces); n -= len(spaces) {
		w.out = append(w.out, spaces...)
	}
	w.out = append(w.out, spaces[:n]...)
}

// object writes an object that is not empty. Its first line has begun already.
func (w *writer) object(at int32, indent int) error {
	first := len(w.keys)
	for i := at + 1; i < w.values[at].next; i = w.values[i+1].next {
		w.keys = append(w.keys, i)
	}
	if err := w.sort(w.keys[first:]); err != nil {
		return err
	}
	last := len(w.keys)
	for k := first; k < last; k++ {
		if k > first {
			w.indent(indent)
		}
		key := w.keys[k]
		if err := w.string(w.key(key), indent, true); err != nil {
			return err
		}
		w.out = append(w.out, ':')
		if err := w.fieldValue(key+1, indent); err != nil {
			return err
		}
	}
	w.keys = w.keys[:first]
	return nil
}

// fieldValue writes what stands behind the colon. The items of a list stand as far to the left as the field.
func (w *writer) fieldValue(at int32, indent int) error {
	v := w.values[at]
	switch {
	case v.next == at+1:
		return w.leaf(at, indent+2)
	case v.kind == '{':
		w.indent(indent + 2)
		return w.object(at, indent+2)
	}
	w.indent(indent)
	return w.list(at, indent)
}

// list writes a list that is not empty. Its first line has begun already.
func (w *writer) list(at int32, indent int) error {
	for i := at + 1; i < w.values[at].next; i = w.values[i].next {
		if i > at+1 {
			w.indent(indent)
		}
		w.out = append(w.out, '-')
		var err error
		switch v := w.values[i]; {
		case v.next == i+1:
			err = w.leaf(i, indent+2)
		case v.kind == '{':
			w.out = append(w.out, ' ')
			err = w.object(i, indent+2)
		default:
			w.out = append(w.out, ' ')
			err = w.list(i, indent+2)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leaf writes a value without values inside. Further lines of it begin at indent.
func (w *writer) leaf(at int32, indent int) error {
	w.out = append(w.out, ' ')
	switch w.values[at].kind {
	case '{':
		w.out = append(w.out, "{}"...)
	case '[':
		w.out = append(w.out, "[]"...)
	case '"':
		text := w.raw(at)
		if bytes.IndexByte(text, '\\') >= 0 {
			var err error
			if w.text, err = unescape(w.text[:0], text); err != nil {
				return err
			}
			text = w.text
		}
		return w.string(text, indent, false)
	case '0':
		return w.number(w.raw(at))
	default:
		w.out = append(w.out, w.raw(at)...)
	}
	return nil
}
