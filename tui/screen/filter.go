package screen

import (
	"errors"
	"strings"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/lang"
)

// FilterError returns the text of a filter's error, in the language of words. Only unknown names, and functions that
// are no step, have a translation.
func FilterError(words lang.Language, err error) string {
	var wrong *filter.Error
	if errors.As(err, &wrong) && (wrong.Unknown != nil || wrong.Elsewhere != nil) {
		return words.Phrase("filter, column %d: %s", wrong.Column, FilterProblem(words, wrong))
	}
	return err.Error()
}

// FilterProblem is FilterError without the position.
func FilterProblem(words lang.Language, err error) string {
	var wrong *filter.Error
	switch {
	case !errors.As(err, &wrong):
		return err.Error()
	case wrong.Elsewhere != nil:
		e := wrong.Elsewhere
		return words.Phrase("no step is %s. %s (%s)", e.Name, words.Text(e.Text), e.Place)
	case wrong.Unknown == nil:
		return wrong.Text()
	}
	u := wrong.Unknown
	switch {
	case len(u.Near) > 0:
		return words.Phrase("there is no %s %q; near it: %s", u.Kind, u.Name, strings.Join(u.Near, ", "))
	case wrong.Expected != "":
		return words.Phrase("there is no %s %q; expected %s", u.Kind, u.Name, wrong.Expected)
	}
	return words.Phrase("there is no %s %q", u.Kind, u.Name)
}
