package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// Shapes of objects of the same size.
const (
	// Flat objects have a few long fields.
	Flat = "flat"
	// Nested objects have a list of 20 small objects, like the variables of a container.
	Nested = "nested"
)

// Widths, in digits, of the numbers that are changed in place.
const (
	nameDigits  = 7
	groupDigits = 2
	roundDigits = 8
	sentDigits  = 19
	// groups is the number of values of the label in selectors. Each value is on 1 % of the objects.
	groups = 100
)

// sentField precedes the time of sending in an object that was written for watchers. It does not occur in managed
// fields.
var sentField = []byte(`"sent":"`)

// template is the body of an object, with the positions of the numbers in it.
type template struct {
	body               []byte
	name, group, round int
	texts              []text
	// pool holds random characters. Each object's texts come from a different part of it, so that a list does not
	// compress unrealistically well.
	pool []byte
}

// text is the position of a text in the body.
type text struct{ at, length int }

// poolStep is so large that neighbours in a list share no text.
const (
	poolSize = 1 << 16
	poolStep = 977
)

// newTemplate makes a template for objects of a size in bytes, as sent.
func newTemplate(apiVersion, shape string, size int) *template {
	t := &template{body: fmt.Appendf(nil,
		`{"apiVersion":%q,"kind":%q,"metadata":{"name":"w-%0*d","labels":{"group":"g%0*d"}},`+
			`"spec":{"number":7,"round":"%0*d","sent":"%0*d"`,
		apiVersion, kind, nameDigits, 0, groupDigits, 0, roundDigits, 0, sentDigits, 0)}
	if shape == Nested {
		const n, frame = 20, len(`{"name":"VARIABLE_00","value":""},`)
		t.body = append(t.body, `,"env":[`...)
		each := (size-len(t.body)-2)/n - frame
		for i := range n {
			if i > 0 {
				t.body = append(t.body, ',')
			}
			t.text(fmt.Sprintf(`{"name":"VARIABLE_%02d","value":"`, i), each, `"}`)
		}
		t.body = append(t.body, ']')
	} else {
		const n, frame = 4, len(`,"text0":""`)
		each := (size-len(t.body)-2)/n - frame
		for i := range n {
			t.text(fmt.Sprintf(`,"text%d":"`, i), each, `"`)
		}
	}
	t.body = append(t.body, `}}`...)
	after := func(text string) int { return bytes.Index(t.body, []byte(text)) + len(text) }
	t.name, t.group, t.round = after(`"name":"w-`), after(`"group":"g`), after(`"round":"`)
	random := rand.New(rand.NewPCG(1, 2))
	t.pool = make([]byte, poolSize+size)
	for i := range t.pool {
		t.pool[i] = "0123456789abcdef"[random.IntN(16)]
	}
	return t
}

// text adds a text, with before and after around it.
func (t *template) text(before string, length int, after string) {
	length = max(length, 1)
	t.body = append(t.body, before...)
	t.texts = append(t.texts, text{len(t.body), length})
	t.body = append(append(t.body, make([]byte, length)...), after...)
}

// write writes the body of object n in a round to b, which may hold another object's body.
func (t *template) write(b []byte, n, round int) []byte {
	b = append(b[:0], t.body...)
	digits(b[t.name:t.name+nameDigits], int64(n))
	digits(b[t.group:t.group+groupDigits], int64(n%groups))
	digits(b[t.round:t.round+roundDigits], int64(round))
	from := n * poolStep % poolSize
	for _, text := range t.texts {
		from += copy(b[text.at:text.at+text.length], t.pool[from:])
	}
	return b
}

// digits writes n with leading zeros.
func digits(into []byte, n int64) {
	for i := len(into) - 1; i >= 0; i-- {
		into[i] = byte('0' + n%10)
		n /= 10
	}
}

// setRound changes the round in an object from the server. It returns false if the object has none.
func setRound(object []byte, round int) bool {
	field := []byte(`"round":"`)
	i := bytes.Index(object, field)
	if i < 0 || len(object) < i+len(field)+roundDigits {
		return false
	}
	digits(object[i+len(field):i+len(field)+roundDigits], int64(round))
	return true
}

func nameOf(n int) string {
	name := []byte("w-0000000")
	digits(name[2:], int64(n))
	return string(name)
}

func groupOf(n int) string { return "g" + pad(n%groups, groupDigits) }

func pad(n, width int) string {
	s := strconv.Itoa(n)
	for len(s) < width {
		s = "0" + s
	}
	return s
}
