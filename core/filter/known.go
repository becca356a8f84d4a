package filter

import (
	"fmt"
	"slices"
	"strings"
)

// Vocabulary returns the names that a field may have as values, beside those in the table of fields. A field without
// any names may have all values. Asked for [Instead] and a word, it returns what does the work of a function of that
// name which no step is, and where; or nothing.
type Vocabulary func(field string) []string

// Instead begins the question what does the work of a function.
const Instead = "instead of "

// NoStepFunction is a function that no step is.
type NoStepFunction struct {
	Name string
	// Text says what does its work and why that is no step, and Place where that is.
	Text, Place string
}

// noStepError is the error about a word that is a function, but no step: it would find nothing.
func (p *parser) noStepError(at int, word string) error {
	if p.known == nil {
		return nil
	}
	found := p.known(Instead + word)
	if len(found) != 2 {
		return nil
	}
	err := p.error(at, "", fmt.Sprintf("no step is %s. %s (%s)", word, found[0], found[1]))
	err.Elsewhere = &NoStepFunction{word, found[0], found[1]}
	return err
}

// Unknown is a name that does not exist.
type Unknown struct {
	// Kind tells what the name should name: a value of that field of [Fields], or a "field".
	Kind string
	Name string
	// Near are the names that are near to it.
	Near []string
}

// mostListed limits the names in a list when none is near.
const mostListed = 16

// exists checks that one of the field's values has a name that matches the filter's word, at its place.
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

// unknown returns the error about a name that does not exist. If no name is near, it says what was expected.
func (p *parser) unknown(at int, expected, kind, name string, all []string) error {
	u := &Unknown{Kind: kind, Name: name, Near: Near(name, all)}
	if len(u.Near) > 0 {
		expected = strings.Join(u.Near, ", ")
	}
	err := p.error(at, expected, fmt.Sprintf("there is no %s %q", kind, name))
	err.Unknown = u
	return err
}
