package listing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/kx-apiserver/kx/core/yaml"
)

// text is a textual form of a list: how its items are embedded.
type text struct {
	// of converts a whole document into the form, which ends with end. list returns the text of a field without items,
	// and open the number of its bytes that precede the first item.
	of         func(json []byte) ([]byte, error)
	end        string
	list       func(field string) string
	open       func(field string) int
	element    func(s *scratch, field string, e Element) error
	before     string // each item
	between    string // two items
	afterItems string
}

var plainText = &text{
	of:   func(json []byte) ([]byte, error) { return json, nil },
	end:  "\n",
	list: func(field string) string { return `"` + field + `":[]` },
	open: func(field string) int { return len(`"` + field + `":[`) },
	// Elements are written as they are.
	between: ",",
}

var prettyText = &text{
	of: func(data []byte) ([]byte, error) {
		var out bytes.Buffer
		err := json.Indent(&out, data, "", "  ")
		return out.Bytes(), err
	},
	list: func(field string) string { return "\n  \"" + field + `": []` },
	open: func(field string) int { return len("\n  \"" + field + `": [`) },
	element: func(s *scratch, _ string, e Element) error {
		s.in.WriteString(e.Lead)
		s.in.Write(e.Data)
		return json.Indent(&s.out, s.in.Bytes(), "    ", "  ")
	},
	before:     "\n    ",
	between:    ",",
	afterItems: "\n  ",
}

var yamlText = &text{
	of:      yaml.FromJSON,
	list:    func(field string) string { return "\n" + field + ": []\n" },
	open:    func(field string) int { return len("\n" + field + ":") },
	element: yamlElement,
	before:  "\n",
	// The last item's line ends where the line of "[]" did.
	afterItems: "",
}

// yamlElement writes an item without the end of its last line. The folding of lines depends on their indentation, so it
// encodes the item at its final depth: in a list, in a field.
func yamlElement(s *scratch, field string, e Element) error {
	for _, part := range []string{`{"`, field, `":[`, e.Lead} {
		s.in.WriteString(part)
	}
	s.in.Write(e.Data)
	s.in.WriteString("]}")
	data, err := yaml.AppendJSON(s.out.AvailableBuffer(), s.in.Bytes())
	if err != nil {
		return err
	}
	s.out.Write(data)
	s.out.Truncate(s.out.Len() - 1)
	if string(s.out.Next(len(field)+2)) != field+":\n" {
		return fmt.Errorf("write an item as YAML: it does not begin with its list")
	}
	return nil
}

// scratch holds the buffers in which an element is made.
type scratch struct{ in, out bytes.Buffer }

func (t *text) write(ctx context.Context, out *chunks, e *Encoding, d *Document) error {
	head, tail, err := t.frame(e, d)
	if err != nil {
		return err
	}
	var s scratch
	for element, err := range e.elements(ctx, d) {
		if err != nil {
			return err
		}
		if e.Items == 0 {
			out.write(head)
			out.cut()
		} else {
			out.writeString(t.between)
		}
		out.writeString(t.before)
		if t.element == nil {
			out.writeString(element.Lead)
			err = out.write(element.Data)
		} else {
			s.in.Reset()
			s.out.Reset()
			if err = t.element(&s, d.Field, element); err == nil {
				err = out.write(s.out.Bytes())
			}
		}
		if err != nil {
			return err
		}
		out.endItem(e.key)
	}
	if e.Items == 0 {
		return t.writeEmpty(out, e, d)
	}
	out.cut()
	out.writeString(t.afterItems)
	return out.write(tail)
}

// frame returns the text before the items and the text after them.
func (t *text) frame(e *Encoding, d *Document) (head, tail []byte, err error) {
	frame := d.Head
	if frame == nil {
		frame = d.Empty
	}
	data, err := e.whole(frame)
	if err == nil {
		data, err = t.of(data)
	}
	if err != nil {
		return nil, nil, err
	}
	// It can't occur elsewhere: in a string its quotes would be escaped, or its line would begin further to the right.
	at := bytes.Index(data, []byte(t.list(d.Field)))
	if at < 0 {
		return nil, nil, fmt.Errorf("write a list: %T without items is %.300q", frame, data)
	}
	tail = data[at+t.open(d.Field):]
	if t == yamlText {
		tail = bytes.TrimPrefix(tail, []byte(" []"))
	}
	return data[:at+t.open(d.Field)], append(bytes.Clone(tail), t.end...), nil
}

func (t *text) writeEmpty(out *chunks, e *Encoding, d *Document) error {
	data, err := e.whole(d.Empty)
	if err == nil {
		data, err = t.of(data)
	}
	if err != nil {
		return err
	}
	out.write(data)
	return out.writeString(t.end)
}
