package object

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// canonicalDepth limits the nesting that the scanner follows.
const canonicalDepth = 100

// canonical describes canonical JSON: byte for byte what encoding/json writes for the same value read into maps. Keys
// are sorted, there are no spaces, characters are escaped as encoding/json does, and a newline ends it.
type canonical struct {
	apiVersion, kind string
	// at is where "resourceVersion" belongs among the metadata's keys. comma says on which side it needs a comma.
	at    int
	comma commaSide
}

type commaSide uint8

const (
	noComma commaSide = iota
	commaBefore
	commaAfter
)

// readCanonical reads a stored object. It is not ok if the JSON is not canonical, has a resourceVersion, or is not an
// object with metadata. Such an object must be decoded and encoded before it is sent.
func readCanonical(data []byte) (c canonical, ok bool) {
	s := scanner{data: data}
	c.at = -1
	ok = s.object(0, func(key []byte) bool {
		switch string(key) {
		case "apiVersion":
			c.apiVersion, ok = s.plainString()
			return ok
		case "kind":
			c.kind, ok = s.plainString()
			return ok
		case "metadata":
			return s.metadata(&c)
		}
		return s.value(1)
	})
	return c, ok && c.at >= 0 && c.apiVersion != "" && c.kind != "" && s.pos == len(data)-1 && data[s.pos] == '\n'
}

// metadata reads the object's metadata and finds where the resourceVersion belongs.
func (s *scanner) metadata(c *canonical) bool {
	if s.pos >= len(s.data) || s.data[s.pos] != '{' {
		return false
	}
	c.at, c.comma = s.pos+1, noComma
	found := false
	ok := s.object(1, func(key []byte) bool {
		switch {
		case string(key) == "resourceVersion":
			return false
		case !found && compareName(key, "resourceVersion") > 0:
			// The scanner has passed the key's quotes and colon by now.
			found = true
			c.at, c.comma = s.pos-len(key)-len(`"":`), commaAfter
		}
		return s.value(2)
	})
	if ok && !found && s.data[s.pos-2] != '{' {
		c.at, c.comma = s.pos-1, commaBefore
	}
	return ok
}

// scanner reads canonical JSON.
type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) byte(b byte) bool {
	if s.pos < len(s.data) && s.data[s.pos] == b {
		s.pos++
		return true
	}
	return false
}

// object reads an object whose keys are sorted. member gets each key as it is written, and reads the value.
func (s *scanner) object(depth int, member func(key []byte) bool) bool {
	if depth > canonicalDepth || !s.byte('{') {
		return false
	}
	if s.byte('}') {
		return true
	}
	var key []byte
	for {
		var ok bool
		if key, ok = s.key(key); !ok || !member(key) {
			return false
		}
		if s.byte('}') {
			return true
		}
		if !s.byte(',') {
			return false
		}
	}
}

// key reads a key and its colon. It must follow the key before, which is nil for the first one.
func (s *scanner) key(before []byte) (key []byte, ok bool) {
	start := s.pos + 1
	if _, ok := s.string(); !ok {
		return nil, false
	}
	key = s.data[start : s.pos-1]
	if before != nil && compareKeys(key, before) <= 0 {
		return nil, false
	}
	return key, s.byte(':')
}

// compareKeys compares two keys unescaped. Keys of managed fields of list items have escapes.
func compareKeys(a, b []byte) int {
	if bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
		return bytes.Compare(a, b)
	}
	for len(a) > 0 && len(b) > 0 {
		x, n := unescape(a)
		y, m := unescape(b)
		if x != y {
			return cmp.Compare(x, y)
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

// compareName compares an unescaped key with a name.
func compareName(key []byte, name string) int {
	if bytes.IndexByte(key, '\\') < 0 {
		switch { // conversions that are only compared allocate nothing
		case string(key) == name:
			return 0
		case string(key) < name:
			return -1
		}
		return 1
	}
	for len(key) > 0 && len(name) > 0 {
		x, n := unescape(key)
		y, m := utf8.DecodeRuneInString(name)
		if x != y {
			return cmp.Compare(x, y)
		}
		key, name = key[n:], name[m:]
	}
	return cmp.Compare(len(key), len(name))
}

// unescape returns the first character of text and how many bytes it takes.
func unescape(text []byte) (r rune, size int) {
	if text[0] != '\\' {
		return utf8.DecodeRune(text)
	}
	switch text[1] {
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'u':
		code, _ := strconv.ParseUint(string(text[2:6]), 16, 16)
		return rune(code), 6
	}
	return rune(text[1]), 2
}

func (s *scanner) array(depth int) bool {
	if depth > canonicalDepth || !s.byte('[') {
		return false
	}
	if s.byte(']') {
		return true
	}
	for {
		if !s.value(depth + 1) {
			return false
		}
		if s.byte(']') {
			return true
		}
		if !s.byte(',') {
			return false
		}
	}
}

func (s *scanner) value(depth int) bool {
	if s.pos >= len(s.data) {
		return false
	}
	switch s.data[s.pos] {
	case '{':
		return s.object(depth, func([]byte) bool { return s.value(depth + 1) })
	case '[':
		return s.array(depth)
	case '"':
		_, ok := s.string()
		return ok
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	return s.number()
}

func (s *scanner) literal(text string) bool {
	if len(s.data)-s.pos < len(text) || string(s.data[s.pos:s.pos+len(text)]) != text {
		return false
	}
	s.pos += len(text)
	return true
}

// plain are the bytes that stand for themselves in a string.
var plain = func() (plain [256]bool) {
	for b := 0x20; b < utf8.RuneSelf; b++ {
		plain[b] = true
	}
	for _, b := range []byte{'"', '\\', '<', '>', '&'} {
		plain[b] = false
	}
	return plain
}()

// plainString reads a string that holds no escapes.
func (s *scanner) plainString() (string, bool) {
	start := s.pos + 1
	escaped, ok := s.string()
	if !ok || escaped {
		return "", false
	}
	return string(s.data[start : s.pos-1]), true
}

func (s *scanner) string() (escaped, ok bool) {
	if !s.byte('"') {
		return false, false
	}
	for s.pos < len(s.data) {
		b := s.data[s.pos]
		switch {
		case plain[b]:
			s.pos++
		case b == '"':
			s.pos++
			return escaped, true
		case b == '\\':
			escaped = true
			if !s.escape() {
				return escaped, false
			}
		case b < utf8.RuneSelf:
			return escaped, false
		default:
			r, size := utf8.DecodeRune(s.data[s.pos:])
			if r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' {
				return escaped, false
			}
			s.pos += size
		}
	}
	return escaped, false
}

// escape reads an escape that encoding/json would write.
func (s *scanner) escape() bool {
	rest := s.data[s.pos:]
	if len(rest) < 2 {
		return false
	}
	switch rest[1] {
	case '"', '\\', 'n', 'r', 't', 'b', 'f':
		s.pos += 2
		return true
	case 'u':
		if len(rest) < 6 {
			return false
		}
	default:
		return false
	}
	switch string(rest[2:6]) {
	case "003c", "003e", "0026", "2028", "2029":
		s.pos += 6
		return true
	case "0008", "0009", "000a", "000c", "000d":
		return false // these have shorter escapes
	}
	const hex = "0123456789abcdef"
	for i, digits := range []string{"0", "0", "01", hex} {
		if !contains(digits, rest[2+i]) {
			return false
		}
	}
	s.pos += 6
	return true
}

func contains(digits string, b byte) bool {
	for i := range len(digits) {
		if digits[i] == b {
			return true
		}
	}
	return false
}

// number reads a number. Nearly all are integers. Others are decoded and encoded to see whether they are canonical.
func (s *scanner) number() bool {
	start := s.pos
	for s.pos < len(s.data) && (s.data[s.pos] >= '0' && s.data[s.pos] <= '9' || contains("+-.eE", s.data[s.pos])) {
		s.pos++
	}
	text := s.data[start:s.pos]
	if len(text) == 0 {
		return false
	}
	if i, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return strconv.FormatInt(i, 10) == string(text)
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return false
	}
	written, err := json.Marshal(f)
	return err == nil && string(written) == string(text)
}
