package capture

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/tui/keys"
)

// completing is the word before the cursor of the filter: a field, or what is wanted of one so far.
func (s *Screen) completing() (field, value string) {
	before := s.Line().Before()
	outside := before // of quotes
	if s.quoting() {
		outside = before[:strings.LastIndexByte(before, '"')]
	}
	word := strings.TrimLeft(before[strings.LastIndexByte(outside, ' ')+1:], "!(")
	field, value, ok := strings.Cut(word, ":")
	if !ok {
		return "", s.Line().Word()
	}
	if s.quoting() {
		return strings.ToLower(field), before[len(outside)+1:]
	}
	return strings.ToLower(field), value[strings.LastIndexByte(value, ',')+1:]
}

// quoting says whether the cursor is behind a quote that is not closed.
func (s *Screen) quoting() bool { return strings.Count(s.Line().Before(), `"`)%2 == 1 }

// candidates are the fields that begin with the word before the cursor.
func (s *Screen) candidates() []filter.Field {
	field, word := s.completing()
	var found []filter.Field
	for _, f := range filter.Fields() {
		if field == "" && word != "" && strings.HasPrefix(f.Name, strings.ToLower(word)) {
			found = append(found, f)
		}
	}
	return found
}

// registered are the values of the fields whose values the trace's tables list.
var registered = map[string]func() []string{
	"layer":  trace.Layers,
	"step":   func() []string { return names(trace.All()) },
	"reason": func() []string { return names(trace.Reasons()) },
}

func names[T fmt.Stringer](all []T) []string {
	texts := make([]string, len(all))
	for i := range all {
		texts[i] = all[i].String()
	}
	return texts
}

// inList are the fields whose values are those of the requests in the list.
var inList = map[string]func(*v1alpha1.JourneySpec) string{
	"verb":     func(q *v1alpha1.JourneySpec) string { return q.Verb },
	"resource": func(q *v1alpha1.JourneySpec) string { return q.Resource },
	"sub":      func(q *v1alpha1.JourneySpec) string { return q.Subresource },
	"group":    func(q *v1alpha1.JourneySpec) string { return q.Group },
	"version":  func(q *v1alpha1.JourneySpec) string { return q.Version },
	"ns":       func(q *v1alpha1.JourneySpec) string { return q.Namespace },
	"name":     func(q *v1alpha1.JourneySpec) string { return q.Name },
	"method":   func(q *v1alpha1.JourneySpec) string { return q.Method },
	"user":     func(q *v1alpha1.JourneySpec) string { return q.User },
	"ip":       func(q *v1alpha1.JourneySpec) string { return q.SourceIP },
}

// valuesMost bounds how many values are offered.
const valuesMost = 64

// values complete what is typed of a field's value: the steps of the open request first, then the values that the field
// can have, then those of the requests in the list.
func (s *Screen) values() []string {
	field, word := s.completing()
	var known []string
	for _, f := range filter.Fields() {
		if f.Name == field || slices.Contains(f.Aliases, field) {
			field, known = f.Name, f.Values
		}
	}
	if of := registered[field]; of != nil {
		known = of()
	}
	var found []string
	offer := func(value string) {
		if value != "" && len(found) < valuesMost && strings.HasPrefix(value, word) && !slices.Contains(found, value) {
			found = append(found, value)
		}
	}
	if j := s.open.journey; field == "step" && j != nil {
		for i := range j.Status.Steps {
			offer(j.Status.Steps[i].ID)
		}
	}
	for _, value := range known {
		offer(value)
	}
	if of := inList[field]; of != nil {
		for i := range s.ring.Len() {
			offer(of(&s.ring.At(i).Spec))
		}
	}
	return found
}

// complete completes the word before the cursor, as far as it is certain.
func (s *Screen) complete() {
	field, word := s.completing()
	var names []string
	if field == "" {
		for _, f := range s.candidates() {
			names = append(names, f.Name)
		}
	} else {
		names = s.values()
	}
	if len(names) == 0 {
		if field != "" {
			s.host.Say("no request in the list has such a " + field + " (which may be right all the same)")
			return
		}
		s.host.Say("no field begins so; there are " + fieldNames())
		return
	}
	common := names[0]
	for _, name := range names {
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
	}
	switch {
	case field == "" && len(names) == 1:
		common += ":"
	case field != "" && s.quoting():
		if len(names) == 1 {
			common += `"`
		}
	case filter.Of(field, common) != field+":"+common && field != "":
		for range []rune(word) {
			s.Line().Handle(keys.EditBackspace)
		}
		common, word = strings.TrimSuffix(strconv.Quote(common), `"`), ""
		if len(names) == 1 {
			common += `"`
		}
	}
	s.Type([]rune(common[len(word):]))
}
