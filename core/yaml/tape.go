package yaml

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

// tape is a JSON document as the list of its values, in their order. The key of a field is a value before the field's
// value.
type tape struct {
	in     []byte
	values []value
	// unescaped are the keys that have escapes, without them. Those of managed fields have.
	unescaped []byte
}

type value struct {
	start, end int32 // in the document; of a string without its quotes
	next       int32 // the value behind this one and what is inside of it
	kind       byte  // its first byte; '0' for numbers; escapedKey
}

// escapedKey is the kind of a key whose place is not in the document, but in what is unescaped.
const escapedKey = 'k'

// maxDepth limits the nesting of values.
const maxDepth = 100

// read reads a document, with nothing but a newline around its values. Whoever writes JSON that way makes no mistakes,
// so of the mistakes only those are found that would be misread.
func (t *tape) read(data []byte) error {
	t.in, t.values, t.unescaped = bytes.TrimSuffix(data, []byte("\n")), t.values[:0], t.unescaped[:0]
	if len(t.in) > math.MaxInt32 {
		return errRare
	}
	end, err := t.value(0, 0)
	if err == nil && end != len(t.in) {
		err = errRare
	}
	return err
}

func (t *tape) raw(at int32) []byte { return t.in[t.values[at].start:t.values[at].end] }

// key is the text of a key.
func (t *tape) key(at int32) []byte {
	if v := t.values[at]; v.kind == escapedKey {
		return t.unescaped[v.start:v.end]
	}
	return t.raw(at)
}

// at is the byte at i; 0 is the end.
func (t *tape) at(i int) byte {
	if i < len(t.in) {
		return t.in[i]
	}
	return 0
}

// value reads the value that begins at i, and returns where it ends.
func (t *tape) value(i, depth int) (end int, err error) {
	self, c := len(t.values), t.at(i)
	t.values = append(t.values, value{start: int32(i), kind: c})
	switch {
	case depth > maxDepth:
		return 0, errRare
	case c == '{' || c == '[':
		end, err = t.inside(i, depth)
	case c == '"':
		t.values[self].start++
		end, err = t.str(i + 1)
	default:
		if c == '-' || '0' <= c && c <= '9' {
			t.values[self].kind = '0'
		}
		end, err = t.word(i)
	}
	v := &t.values[self]
	v.end, v.next = int32(end), int32(len(t.values))
	if c == '"' {
		v.end--
	}
	return end, err
}

// inside reads the values of the object or list that begins at i.
func (t *tape) inside(i, depth int) (end int, err error) {
	object, closing := t.in[i] == '{', t.in[i]+2 // '}' and ']'
	if t.at(i+1) == closing {
		return i + 2, nil
	}
	for {
		if object {
			if t.at(i+1) != '"' {
				return 0, errRare
			}
			key := len(t.values)
			if i, err = t.value(i+1, depth+1); err != nil || t.at(i) != ':' {
				return 0, errRare
			}
			if err = t.unescapeKey(int32(key)); err != nil {
				return 0, err
			}
		}
		if i, err = t.value(i+1, depth+1); err != nil {
			return 0, err
		}
		switch t.at(i) {
		case ',':
		case closing:
			return i + 1, nil
		default:
			return 0, errRare
		}
	}
}

func (t *tape) unescapeKey(at int32) (err error) {
	raw := t.raw(at)
	if bytes.IndexByte(raw, '\\') < 0 {
		return nil
	}
	v := &t.values[at]
	v.kind, v.start = escapedKey, int32(len(t.unescaped))
	t.unescaped, err = unescape(t.unescaped, raw)
	v.end = int32(len(t.unescaped))
	return err
}

// word reads what is neither in quotes nor in brackets.
func (t *tape) word(i int) (end int, err error) {
	for end = i; end < len(t.in); end++ {
		if c := t.in[end]; c == ',' || c == '}' || c == ']' {
			break
		}
	}
	switch word := string(t.in[i:end]); {
	case word == "true", word == "false", word == "null":
	case t.values[len(t.values)-1].kind != '0':
		err = errRare
	}
	return end, err
}

// plainInJSON are the bytes that mean themselves in a string.
var plainInJSON = func() (is [256]bool) {
	for c := ' '; c < 0x7F; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()

// str reads a string from behind its first quote to behind its last.
func (t *tape) str(i int) (end int, err error) {
	for i < len(t.in) {
		switch c := t.in[i]; {
		case plainInJSON[c]:
			i++
		case c == '"':
			return i + 1, nil
		case c == '\\':
			i += 2
		case c < utf8.RuneSelf:
			return 0, errRare
		default:
			r, size := utf8.DecodeRune(t.in[i:])
			if size == 1 || rareRune(r) || r < 0xA0 {
				return 0, errRare
			}
			i += size
		}
	}
	return 0, errRare
}

// rareRune says whether YAML takes r for the end of a line, for the order of bytes, or for no character at all.
func rareRune(r rune) bool {
	switch r {
	case 0x85, 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF:
		return true
	}
	return 0xD800 <= r && r < 0xE000
}

// unescape appends the text that raw stands for.
func unescape(out, raw []byte) ([]byte, error) {
	for {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 {
			return append(out, raw...), nil
		}
		if at+1 == len(raw) {
			return nil, errRare
		}
		out = append(out, raw[:at]...)
		c := raw[at+1]
		if raw = raw[at+2:]; c != 'u' {
			if c = escapes[c]; c == 0 {
				return nil, errRare
			}
			out = append(out, c)
			continue
		}
		if len(raw) < 4 {
			return nil, errRare
		}
		r, err := strconv.ParseUint(string(raw[:4]), 16, 16)
		if err != nil || rareRune(rune(r)) {
			return nil, errRare
		}
		out, raw = utf8.AppendRune(out, rune(r)), raw[4:]
	}
}

// escapes are the bytes that a letter behind a backslash means.
var escapes = [256]byte{'"': '"', '\\': '\\', 'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}
