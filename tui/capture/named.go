package capture

import (
	"maps"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
)

// Bounds of the filters that are kept under names.
const (
	namedMost     = 100
	nameBytesMost = 64
)

func (s *Screen) whyNoNamed() string {
	if s.applied == "" && len(s.named) == 0 {
		return s.phrase("no filter is on, and none is kept: %s types one", keys.Narrow.Key())
	}
	return ""
}

// chooseNamed offers the kept filters, and to keep the one that is on.
func (s *Screen) chooseNamed() tea.Cmd {
	menu := screen.Menu{Title: s.phrase("Filters"), Hint: s.phrase("the name of a filter"), Typed: s.namedAs}
	for _, name := range slices.Sorted(maps.Keys(s.named)) {
		menu.Choices = append(menu.Choices, s.choiceOf(name))
	}
	if s.applied != "" {
		menu.Choices = append(menu.Choices, screen.Choice{Title: s.phrase("keep the filter under a name"), Help: s.applied, Do: s.askName})
	}
	for _, name := range slices.Sorted(maps.Keys(s.named)) {
		if s.named[name] == s.applied {
			menu.Choices = append(menu.Choices, screen.Choice{Title: s.phrase("forget %s", name), Help: s.applied, Do: keys.Call(func() {
				delete(s.named, name)
				s.host.Say(s.phrase("%s is no longer kept", name))
			})})
		}
	}
	return s.host.Choose(menu)
}

// choiceOf returns the choice that puts a kept filter on.
func (s *Screen) choiceOf(name string) screen.Choice {
	return screen.Choice{Title: name, Help: s.named[name], Do: keys.Call(func() { s.takeNamed(name) })}
}

// namedAs finds a kept filter by its name.
func (s *Screen) namedAs(typed string) (screen.Choice, error) {
	names := slices.Sorted(maps.Keys(s.named))
	for _, name := range names {
		if strings.EqualFold(name, typed) {
			return s.choiceOf(name), nil
		}
	}
	near := filter.Near(typed, names)
	switch {
	case len(names) == 0:
		return screen.Choice{}, problem(s.phrase("no filter is kept yet"))
	case len(near) == 0:
		near = names
	}
	return screen.Choice{}, problem(s.phrase("no filter is called %s: there is %s", typed, strings.Join(near, ", ")))
}

// problem is an error in the user's language.
type problem string

func (p problem) Error() string { return string(p) }

// askName keeps the filter that is on under a name.
func (s *Screen) askName() tea.Cmd {
	f := s.applied
	return s.host.Ask(s.phrase("name of the filter"), "", func(name string) tea.Cmd {
		name = draw.Clean(strings.TrimSpace(name))
		_, again := s.named[name]
		switch {
		case name == "":
			s.host.Complain("the filter is not kept: it has no name")
		case len(name) > nameBytesMost:
			s.host.Complain(s.phrase("a name has at most %d bytes", nameBytesMost))
		case !again && len(s.named) == namedMost:
			s.host.Complain(s.phrase("%d filters are kept already: forget one first", namedMost))
		default:
			if s.named == nil {
				s.named = map[string]string{}
			}
			s.named[name] = f
			s.host.Say(s.phrase("kept as %s: %s lists the filters, in the next run too", name, keys.NamedFilters.Key()))
		}
		return nil
	})
}

// takeNamed puts a kept filter on, if this version of kx can read it.
func (s *Screen) takeNamed(name string) {
	if _, err := filter.Parse(s.named[name], s.session.Names); err != nil {
		s.host.Complain(s.phrase("the filter %s can't be used: %s", name, err.Error()))
		return
	}
	s.follow(s.named[name])
}
