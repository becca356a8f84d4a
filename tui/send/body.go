package send

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/editor"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/send/exchange"
	"github.com/kx-apiserver/kx/tui/send/schema"
)

// pending is a request that is to be sent, and held.
type pending struct {
	request request.Request
	at      hold
}

// sendWaiting sends the request that waited for the server's resources.
func (s *Screen) sendWaiting(err error) tea.Cmd {
	waiting := s.waiting
	if waiting == nil {
		return nil
	}
	s.waiting = nil
	if err != nil {
		s.host.Complain(s.host.Theme().Words.Phrase("it was not sent: %s", screen.Trouble(err)))
		return nil
	}
	return s.sendRequest(waiting.request, true, waiting.at)
}

func (s *Screen) Retry() tea.Cmd {
	maps.DeleteFunc(s.schemas, func(_ request.Kind, got *schemas) bool { return got.err != nil })
	if !s.seen {
		return nil // Show requests them
	}
	return s.askResources()
}

// askResources requests the server's resources.
func (s *Screen) askResources() tea.Cmd {
	get := func() (*request.Resources, error) { return exchange.Resources(s.host.Context(), s.host.API()) }
	return screen.Do(s.host, get, func(resources *request.Resources, err error) tea.Cmd {
		s.resourcesErr = err
		if err == nil {
			s.resources = resources
			s.schemas = map[request.Kind]*schemas{} // a definition may have another schema by now
			if s.picker != nil {
				s.picker.refresh()
			}
		}
		return tea.Batch(s.wantSchemas(), s.sendWaiting(err))
	})
}

// group returns the group and version of the form's resource.
func group(r *request.Resource) request.Kind {
	return request.Kind{Group: r.Group, Version: r.Version}
}

// wantSchemas requests the schemas of the form's resource, once, if the request has a body.
func (s *Screen) wantSchemas() tea.Cmd {
	r := s.resource()
	s.retemplate()
	if r == nil || !s.form.hasBody() {
		return nil
	}
	of := group(r)
	if got := s.schemas[of]; got != nil && got.asked {
		return nil
	}
	s.schemas[of] = &schemas{asked: true}
	get := func() (*schema.Document, error) {
		return exchange.Schemas(s.host.Context(), s.host.API(), of.Group, of.Version)
	}
	return screen.Do(s.host, get, func(doc *schema.Document, err error) tea.Cmd {
		if got := s.schemas[of]; got != nil {
			got.doc, got.err = doc, err
			s.retemplate()
		}
		return nil
	})
}

// document returns the schemas of the form's resource; nil if they are missing.
func (s *Screen) document() *schema.Document {
	if r := s.resource(); r != nil {
		if got := s.schemas[group(r)]; got != nil {
			return got.doc
		}
	}
	return nil
}

// retemplate renews the template, if the body is empty or still an unchanged template.
func (s *Screen) retemplate() {
	if !s.form.hasBody() || s.form.verb == "" || !s.body.Empty() && s.body.String() != s.template {
		return
	}
	s.putTemplate()
}

// putTemplate replaces the body with a template of the request's kind.
func (s *Screen) putTemplate() {
	r := s.resource()
	if r == nil {
		return
	}
	doc := s.document()
	if doc == nil {
		doc = &schema.Document{}
	}
	s.template = doc.Template(s.form.bodyType(r))
	s.body.Set(s.template)
}

// verdict holds the problems of a body, with the inputs of the check.
type verdict struct {
	problems []schema.Problem
	marked   map[int]bool
	version  int
	of       schema.Description
	doc      *schema.Document
	done     bool
}

// checkBytesMost limits the bodies that are checked at every key.
const checkBytesMost = 64 << 10

// check finds the problems of the body, if it has changed since the last check.
func (s *Screen) check() *verdict {
	of, doc := s.form.bodyType(s.resource()), s.document()
	c := &s.checked
	if c.done && c.version == s.body.Version() && c.of == of && c.doc == doc {
		return c
	}
	*c = verdict{version: s.body.Version(), of: of, doc: doc, done: true, marked: map[int]bool{}}
	if s.form.verb == "" || s.tooLong() {
		return c
	}
	c.problems = doc.Check(s.body.String(), of)
	for _, p := range c.problems {
		c.marked[p.Line] = true
	}
	return c
}

func (s *Screen) tooLong() bool { return s.body.Bytes() > checkBytesMost }

// checkNote summarizes the check in a few words.
func (s *Screen) checkNote() string {
	n := len(s.check().problems)
	switch {
	case s.form.verb == "":
		return ""
	case s.tooLong():
		return "too long to be checked here"
	case n == 1:
		return "! 1 problem"
	case n > 0:
		return fmt.Sprintf("! %d problems", n)
	case s.document() == nil:
		return "no schema yet"
	case !s.document().Has(s.form.bodyType(s.resource()).Kind):
		return "no schema"
	}
	return "no problem found"
}

// loadBytesMost limits the size of a loaded object.
const loadBytesMost = editor.BytesMost

// loadObject fetches the current object of the request.
func (s *Screen) loadObject() tea.Cmd {
	named := func() request.Request {
		return request.Request{Verb: request.Get, Resource: s.form.resource, Namespace: s.form.namespace,
			Name: s.form.name, Subresource: s.form.part()}
	}
	r, verb := named(), s.form.verb
	h, err := r.Build(s.resources)
	if err != nil {
		s.host.Complain(err.Error())
		return nil
	}
	return screen.Do(s.host, func() (object, error) { return s.getObject(h) }, func(o object, err error) tea.Cmd {
		now := named()
		switch {
		case s.form.verb != verb || now.Resource != r.Resource || now.Title() != r.Title(): // it is about something else by now
		case err != nil:
			s.host.Complain(r.Title() + ": " + err.Error())
		case !s.body.Set(o.body):
			s.host.Complain(s.host.Theme().Words.Phrase("%s: it is too long to be edited here", r.Title()))
		default:
			s.template = ""
			s.host.Say(s.host.Theme().Words.Phrase("the body is the object as of resourceVersion %s: u takes that back", orDash(o.version)))
		}
		return nil
	})
}

// object is an object as a body, and its resourceVersion.
type object struct{ body, version string }

func (s *Screen) getObject(h request.HTTP) (object, error) {
	res, err := s.host.API().Send(s.host.Context(), api.Request{Path: h.Path, Query: h.Query})
	if err != nil {
		return object{}, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, loadBytesMost+1))
	if err != nil {
		return object{}, fmt.Errorf("read the object: %w", err)
	}
	var answer struct {
		Message  string
		Metadata struct{ ResourceVersion string }
	}
	if len(data) > loadBytesMost || json.Unmarshal(data, &answer) != nil {
		return object{}, errors.New("read the object: it is too long, or no JSON")
	}
	if res.StatusCode != http.StatusOK {
		return object{}, fmt.Errorf("the server answered %d: %s", res.StatusCode, answer.Message)
	}
	text, _, ok := readable(data)
	if !ok {
		return object{}, errors.New("read the object: it is too long to be edited here")
	}
	return object{text, answer.Metadata.ResourceVersion}, nil
}
