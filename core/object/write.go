package object

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"sync"
)

// WriteJSON writes a value that was read from JSON, byte for byte as json.Encoder does. It does not allocate, except
// for floats and for strings with characters that need an escape.
func WriteJSON(w io.Writer, value any) error {
	j := jsonWriters.Get().(*jsonWriter)
	defer j.release()
	if err := j.value(value); err != nil {
		return err
	}
	_, err := w.Write(append(j.out, '\n'))
	return err
}

var jsonWriters = sync.Pool{New: func() any { return &jsonWriter{} }}

// maxKeptOutput is the size of the largest output whose buffer is kept for the next object.
const maxKeptOutput = 64 << 10

// jsonWriter appends values to out. keys is a stack with the sorted keys of the objects that are being written.
type jsonWriter struct {
	out  []byte
	keys []string
}

func (j *jsonWriter) release() {
	if cap(j.out) > maxKeptOutput {
		return
	}
	clear(j.keys[:cap(j.keys)]) // the next object must not keep the strings of this one alive
	j.out, j.keys = j.out[:0], j.keys[:0]
	jsonWriters.Put(j)
}

func (j *jsonWriter) value(value any) error {
	switch value := value.(type) {
	case nil:
		j.out = append(j.out, "null"...)
		return nil
	case bool:
		j.out = strconv.AppendBool(j.out, value)
		return nil
	case int64:
		j.out = strconv.AppendInt(j.out, value, 10)
		return nil
	case string:
		return j.string(value)
	case []any:
		if value != nil {
			return j.list(value)
		}
	case map[string]any:
		if value != nil {
			return j.object(value)
		}
	}
	return j.other(value)
}

func (j *jsonWriter) list(list []any) error {
	j.out = append(j.out, '[')
	for i, item := range list {
		if i > 0 {
			j.out = append(j.out, ',')
		}
		if err := j.value(item); err != nil {
			return err
		}
	}
	j.out = append(j.out, ']')
	return nil
}

func (j *jsonWriter) object(object map[string]any) error {
	start := len(j.keys)
	for key := range object {
		j.keys = append(j.keys, key)
	}
	keys := j.keys[start:]
	slices.Sort(keys)
	j.out = append(j.out, '{')
	for i, key := range keys {
		if i > 0 {
			j.out = append(j.out, ',')
		}
		if err := j.string(key); err != nil {
			return err
		}
		j.out = append(j.out, ':')
		if err := j.value(object[key]); err != nil {
			return err
		}
	}
	j.out = append(j.out, '}')
	j.keys = j.keys[:start]
	return nil
}

// string writes a string of plain ASCII itself.
func (j *jsonWriter) string(s string) error {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return j.other(s)
		}
	}
	j.out = append(j.out, '"')
	j.out = append(j.out, s...)
	j.out = append(j.out, '"')
	return nil
}

// other leaves a value to the library.
func (j *jsonWriter) other(value any) error {
	data, err := json.Marshal(value)
	j.out = append(j.out, data...)
	return err
}
