package survey

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Via is the way by which an object is asked about.
type Via string

// The ways. Those that write do it with dryRun=All.
const (
	Create Via = "create"
	Update Via = "update"
	Status Via = "status"
	// Table reads the stored object as a table.
	Table Via = "table"
)

// Case is one request: an object with at most one change.
type Case struct {
	// Doc is the number of the object among the documents.
	Doc int `json:"doc"`
	Via Via `json:"via"`
	// Kind says what kind of change it is.
	Kind Kind `json:"kind,omitempty"`
	// At is the JSON pointer of what changes, empty if nothing does.
	At string `json:"at,omitempty"`
	// To is the new value. Without one, what is there is removed. Long texts are short here: <<x*254>>.
	To json.RawMessage `json:"to,omitempty"`
}

// Kind is a kind of change.
type Kind string

// The kinds of change.
const (
	Removed  Kind = "removed"  // a field that is there is left out
	Emptied  Kind = "emptied"  // "", [], {}
	Bad      Kind = "bad"      // a text, a number or a key that hardly any field takes
	Changed  Kind = "changed"  // another value, which may be valid
	Long     Kind = "long"     // a text longer than names may be
	Doubled  Kind = "doubled"  // an element of a list twice
	Appended Kind = "appended" // an empty element at the end of a list
	Added    Kind = "added"    // a field that is not there: empty, or with what it must have
)

// hash numbers cases evenly, and the same ones always alike.
func (c Case) hash(seed string) uint32 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s|%d|%s|%s|%s", seed, c.Doc, c.Via, c.At, c.To)
	return h.Sum32()
}

// HeldBack says whether the case is one of the tenth that a developer does not get to see: rules are to be written for
// the fields and not for the cases.
func (c Case) HeldBack() bool { return c.At != "" && c.hash("held back")%10 == 0 }

// said is all that the client wrote itself of an update, whose body has much of the server's.
func (c Case) said(object any) string { return string(render(object)) + string(c.To) }

// apply changes a copy of an object.
func (c Case) apply(object any) (any, error) {
	object = clone(object)
	if c.At == "" {
		return object, nil
	}
	return edit(object, names(c.At), expand(c.To))
}

var (
	repeated = regexp.MustCompile(`<<x\*(\d+)>>`)
	long     = regexp.MustCompile(`x{40,}`)
)

func expand(value json.RawMessage) json.RawMessage {
	if value == nil {
		return nil
	}
	return repeated.ReplaceAllFunc(value, func(found []byte) []byte {
		n, err := strconv.Atoi(string(repeated.FindSubmatch(found)[1]))
		if err != nil {
			return found
		}
		return []byte(strings.Repeat("x", n))
	})
}

func shorten(text string) string {
	return long.ReplaceAllStringFunc(text, func(found string) string { return fmt.Sprintf("<<x*%d>>", len(found)) })
}

// pattern is where a pointer leads to in any object of type t: without indices and keys.
func pattern(t reflect.Type, at string) string {
	var out strings.Builder
	for _, name := range names(at) {
		for t != nil && t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch {
		case t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Map):
			out.WriteString("[]")
			t = t.Elem()
		case t != nil && t.Kind() == reflect.Struct:
			out.WriteString("." + name)
			t = fieldType(t, name)
		default:
			out.WriteString("." + name)
		}
	}
	return strings.TrimPrefix(out.String(), ".")
}

func fieldType(t reflect.Type, name string) reflect.Type {
	for _, f := range fieldsOf(t) {
		if f.name == name {
			return f.typ
		}
	}
	return nil
}
