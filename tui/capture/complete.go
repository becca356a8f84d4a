package capture

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/keys"
)

// completionPlace returns the place in the typed filter at the cursor.
func (s *Screen) completionPlace() filter.Place { return filter.PlaceAt(s.Line().Before()) }

// forms lists the filter's functions. They are offered like fields, by their names with the parenthesis.
var forms = []filter.Field{
	{Name: "step(", Help: "several conditions on one step", Example: `step(etcd.txn why:"attempt 2")`},
	{Name: "steps(", Help: "how many steps fulfil conditions", Example: "steps(etcd.txn)>1"},
}

// candidates lists the fields and forms that begin with the word before the cursor.
func (s *Screen) candidates() []filter.Field {
	at := s.completionPlace()
	if at.Field != "" || at.Word == "" || at.Quoted {
		return nil
	}
	var found []filter.Field
	for _, f := range filter.Fields() {
		if (f.OfSteps || !at.OfStep) && strings.HasPrefix(f.Name, strings.ToLower(at.Word)) {
			found = append(found, f)
		}
	}
	for _, f := range forms {
		if !at.OfStep && strings.HasPrefix(f.Name, strings.ToLower(at.Word)) {
			found = append(found, f)
		}
	}
	return found
}

// inList maps a field to its value in a request. It has the fields that the list knows without the server.
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

// valuesMost limits the offered values.
const valuesMost = 64

// values completes the value of a field: first with the steps of the open request, then with the field's known
// values, then with values from the requests in the list.
func (s *Screen) values() []string {
	at := s.completionPlace()
	field, word := at.Field, at.Word
	if field == "" && at.OfStep && !at.Quoted {
		field = "step"
	}
	var known []string
	for _, f := range filter.Fields() {
		if f.Name == field {
			known = f.Values
		}
	}
	known = slices.Concat(known, s.session.Names(field))
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

// complete types the rest of the word before the cursor, as far as all candidates agree.
func (s *Screen) complete() {
	at := s.completionPlace()
	names := s.values()
	if at.Field == "" {
		for _, f := range s.candidates() {
			names = append(names, f.Name)
		}
	}
	switch {
	case len(names) == 0 && at.Field != "":
		s.host.Say(s.phrase("no request in the list has such a %s (which may be right all the same)", at.Field))
		return
	case len(names) == 0:
		s.host.Say(s.phrase("no field begins so; there are %s", fieldNames()))
		return
	}
	common, only := commonPrefix(names), len(names) == 1
	word := at.Word
	switch {
	case at.Field == "":
		if only && slices.ContainsFunc(filter.Fields(), func(f filter.Field) bool { return f.Name == common }) {
			common += ":"
		}
	case at.Quoted:
		common = word + inQuotes(strings.TrimPrefix(common, word))
		if only {
			common += `"`
		}
	case filter.Compose(at.Field, common) != at.Field+":"+common:
		for range []rune(word) {
			s.Line().Handle(keys.EditBackspace)
		}
		common, word = `"`+inQuotes(common), ""
		if only {
			common += `"`
		}
	}
	// Fields match the word in any case, so the names may have less in common than its length.
	s.Type([]rune(common[min(len(word), len(common)):]))
}

// inQuotes writes a text as it stands between quotes.
func inQuotes(text string) string {
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// commonPrefix returns the characters with which all names begin.
func commonPrefix(names []string) string {
	common := names[0]
	for _, name := range names {
		for !strings.HasPrefix(name, common) {
			_, size := utf8.DecodeLastRuneInString(common)
			common = common[:len(common)-size]
		}
	}
	return common
}
