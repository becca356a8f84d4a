package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kx-apiserver/kx/core/near"
)

// Known returns the names that a field may have as values, beside those in the table of fields. A field without any names may have
// all values.
type Known func(field string) []string

// Unknown is a name that does not exist.
type Unknown struct {
	// Kind is what the name should be: the name of a field of [Fields], or "field".
	Kind string
	Name string
	// Near are the names that are near to it.
	Near []string
}

// mostListed is how many names are listed where none is near.
const mostListed = 16

// exists checks that there is a name of the field's values that fulfils what a filter asks of it, as the word at a place.
func (p *parser) exists(field *Field, at int, word string, asked func(string) bool) error {
	all := slices.Concat(field.Values, field.Rare)
	if p.known != nil {
		all = append(all, p.known(field.Name)...)
	}
	if len(all) == 0 || slices.ContainsFunc(all, asked) {
		return nil
	}
	expected := ""
	switch {
	case len(all) <= mostListed:
		expected = "one of " + strings.Join(all, ", ")
	case field.Name == "step":
		expected = "one of those that kx trace steps lists"
	}
	return p.unknown(at, expected, field.Name, word, all)
}

// noField is the error about a field that does not exist.
func (p *parser) noField(at int, name string) error {
	names := fieldNames(p.ofStep)
	return p.unknown(at, "one of "+strings.Join(names, ", ")+", or the text in quotes", "field", name, names)
}

// unknown is the error about a name that does not exist. Where no name is near, it says what was expected.
func (p *parser) unknown(at int, expected, kind, name string, all []string) error {
	u := &Unknown{Kind: kind, Name: name, Near: near.Names(name, all)}
	if len(u.Near) > 0 {
		expected = strings.Join(u.Near, ", ")
	}
	err := p.error(at, expected, fmt.Sprintf("there is no %s %q", kind, name))
	err.Unknown = u
	return err
}
