package capture

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/tui/keys"
)

// edit begins to type the filter.
func (s *Screen) edit() {
	s.filtering = true
	s.typing.Set(s.applied)
}

// editFilter does a command of the line that the filter is typed into. It says whether id is one.
func (s *Screen) editFilter(id keys.ID) bool {
	switch id {
	case keys.Back:
		return s.back()
	case applyID:
		s.apply()
	case completeID:
		s.complete()
	default:
		return s.typing.Handle(id)
	}
	return true
}

// Type implements screen.Screen.
func (s *Screen) Type(text []rune) {
	if s.filtering && !s.typing.Insert(text) {
		s.host.Complain(fmt.Sprintf("a filter has at most %d bytes", filter.MaxLength))
	}
}

// parsed reads what is typed as a filter.
func (s *Screen) parsed() (filter.Filter, *filter.Error) {
	f, err := filter.Parse(s.typing.String())
	var e *filter.Error
	if err != nil && !errors.As(err, &e) {
		e = &filter.Error{Column: 1, Problem: err.Error()}
	}
	return f, e
}

// apply follows what the filter wants, if it can be read. Until then the old result stays.
func (s *Screen) apply() {
	if _, err := s.parsed(); err != nil {
		s.host.Complain(err.Error())
		return
	}
	s.filtering = false
	s.follow(strings.TrimSpace(s.typing.String()))
}

func (s *Screen) follow(f string) {
	s.applied, s.hidden = f, hidden{}
	s.state.Reason = ""
	s.session.Follow(f)
}

func fieldNames() string {
	var names []string
	for _, f := range filter.Fields() {
		names = append(names, f.Name)
	}
	return strings.Join(names, " ")
}
