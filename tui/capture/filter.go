package capture

import (
	"errors"
	"strings"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/screen"
)

// parseFilter parses the typed filter.
func (s *Screen) parseFilter() (filter.Filter, *filter.Error) {
	f, err := filter.Parse(s.Line().String(), s.session.Names)
	var e *filter.Error
	if err != nil && !errors.As(err, &e) {
		e = &filter.Error{Column: 1, Problem: err.Error()}
	}
	return f, e
}

// apply follows the requests that match the typed filter, if it parses. Until then the old result stays.
func (s *Screen) apply() {
	if _, err := s.parseFilter(); err != nil {
		s.host.Complain(screen.FilterError(s.host.Theme().Words, err))
		return
	}
	s.CloseLine()
	s.follow(strings.TrimSpace(s.Line().String()))
}

func (s *Screen) follow(f string) {
	s.applied, s.hidden = f, hiddenCount{}
	s.state.Reason = ""
	s.ring.Fold(nil)
	if f == "" && !s.unfolded {
		s.ring.Fold((*v1alpha1.Journey).IsDiscovery)
	}
	s.session.Follow(f)
}

func fieldNames() string {
	var names []string
	for _, f := range filter.Fields() {
		names = append(names, f.Name)
	}
	return strings.Join(names, " ")
}
