package send

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/send/exchange"
)

// row returns the row under the cursor.
func (s *Screen) row() row {
	rows := s.rows()
	s.formRows.Cursor = max(min(s.formRows.Cursor, len(rows)-1), 0)
	return rows[s.formRows.Cursor]
}

// set sets the value of a row, and updates the fields that depend on it.
func (s *Screen) set(id, value string) tea.Cmd {
	if id == verbRow && value == raw && s.form.verb != "" {
		s.becomeRaw()
	}
	if wrong := s.form.set(id, value); wrong != "" {
		s.host.Complain(wrong)
		return nil
	}
	if id == resourceRow {
		s.resourceChanged()
	}
	s.noBody()
	return s.wantSchemas()
}

// becomeRaw turns the shown request into a method and a path, before the verb goes.
func (s *Screen) becomeRaw() {
	_, h, err := s.buildRequest()
	if err != nil {
		return
	}
	query := url.Values{}
	for name, values := range h.Query {
		if _, other := s.form.query[name]; !other { // the others stay fields of their own
			query[name] = values
		}
	}
	shown := request.HTTP{Path: h.Path, Query: query}
	s.form.method, s.form.path = h.Method, shown.URI()
	if s.form.verb == request.Patch {
		s.form.header["Content-Type"] = []string{h.ContentType()}
	}
}

// resourceChanged adjusts namespace and subresource to the resource.
func (s *Screen) resourceChanged() {
	r := s.resource()
	if r == nil {
		return
	}
	s.form.version++
	if !r.Namespaced {
		s.form.namespace = ""
	} else if s.form.namespace == "" && (s.form.verb.Named() || s.form.verb == request.Create) {
		s.form.namespace = "default"
	}
	if r.Sub(s.form.subresource) == nil {
		s.form.subresource = ""
	}
}

// cycle takes the next of a row's choices, or the one before.
func (s *Screen) cycle(by int) tea.Cmd {
	r := s.row()
	if len(r.choices) == 0 {
		return nil
	}
	at := slices.Index(r.choices, r.value)
	if at < 0 {
		at = 0
	} else {
		at = (at + by + len(r.choices)) % len(r.choices)
	}
	return s.set(r.id, r.choices[at])
}

// edit opens the picker of the row under the cursor.
func (s *Screen) edit() tea.Cmd {
	r := s.row()
	if r.id == resourceRow {
		return s.find()
	}
	p := &picker{title: r.label, note: r.help, free: len(r.choices) == 0}
	p.line.Set(r.value)
	if !p.free {
		p.line.Set("")
	}
	p.match = plain(r.choices)
	if len(r.choices) == 0 {
		p.match = nil
	}
	p.then = func(value string) tea.Cmd { return s.set(r.id, value) }
	s.picker = p
	p.refresh()
	if at := slices.Index(r.choices, r.value); at >= 0 {
		p.rows.Cursor = at
	}
	switch r.id {
	case namespaceRow:
		return s.askNames(p, "/api/v1/namespaces")
	case nameRow:
		return s.askObjects(p)
	}
	return nil
}

// find opens the picker of resources.
func (s *Screen) find() tea.Cmd {
	p := &picker{title: "resource", note: "a part of a name, a short name, a kind or a group"}
	p.match = func(typed string) []pick {
		var all []pick
		for _, r := range s.resources.Match(typed) {
			scope := "cluster"
			if r.Namespaced {
				scope = "namespaced"
			}
			all = append(all, pick{r.ID(), fmt.Sprintf("%-28s %-8s %-26s %s", r.Plural, strings.Join(r.Short, ","),
				r.Kind.Kind, r.Kind.APIVersion()+"  "+scope)})
		}
		return all
	}
	p.free = s.resources == nil
	if s.resourcesErr != nil {
		p.note = "what the server has is not known: " + screen.Trouble(s.resourcesErr)
	}
	p.then = func(value string) tea.Cmd {
		if s.form.verb == "" {
			s.form.set(verbRow, string(request.List))
		}
		return s.set(resourceRow, value)
	}
	s.picker = p
	p.refresh()
	return nil
}

// askNames requests the names of a collection's objects, for a picker.
func (s *Screen) askNames(p *picker, path string) tea.Cmd {
	get := func() ([]string, error) { return exchange.ObjectNames(s.host.Context(), s.host.API(), path) }
	return screen.Do(s.host, get, func(names []string, err error) tea.Cmd {
		switch {
		case s.picker != p: // it is closed
		case err != nil:
			p.note = "the names are not known: " + err.Error()
		default:
			p.match = plain(names)
			if len(names) == exchange.NamesMost {
				p.note += " " + s.host.Theme().Words.Phrase("(the first %d)", exchange.NamesMost)
			}
			p.refresh()
		}
		return nil
	})
}

// askObjects requests the names of objects for the request.
func (s *Screen) askObjects(p *picker) tea.Cmd {
	list := request.Request{Verb: request.List, Resource: s.form.resource, Namespace: s.form.namespace}
	h, err := list.Build(s.resources)
	if err != nil {
		return nil // one can type it
	}
	return s.askNames(p, h.Path)
}

// choose takes the picked value.
func (s *Screen) choose() tea.Cmd {
	p := s.picker
	value, ok := p.picked()
	if !ok {
		s.host.Complain(s.host.Theme().Words.Phrase("there is no %s with %s: esc gives up", p.title, p.line.String()))
		return nil
	}
	s.picker = nil
	return p.then(value)
}

// complete completes the line, or takes the choice under the cursor into it.
func (s *Screen) complete() tea.Cmd {
	if s.picker.complete != nil {
		return s.picker.complete(s.picker.line.String())
	}
	s.picker.put()
	return nil
}
