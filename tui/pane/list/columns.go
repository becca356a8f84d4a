package list

import (
	"net/url"
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
)

// Resource is what a request is about: its resource and group as kubectl writes them, or its path.
func Resource(s *v1alpha1.JourneySpec) string {
	if s.Resource == "" {
		return s.URI
	}
	r := s.Resource
	if s.Group != "" {
		r += "." + s.Group
	}
	if s.Subresource != "" {
		r += "/" + s.Subresource
	}
	return r
}

// Object is which object a request is about: namespace and name, as far as it has them; of a watch, also from which
// resourceVersion on.
func Object(s *v1alpha1.JourneySpec) string {
	object := s.Name
	if s.Namespace != "" && s.Resource != "namespaces" {
		object = s.Namespace + "/" + s.Name
	}
	if s.Verb == "watch" {
		if rv := parameter(s.URI, "resourceVersion"); rv != "" {
			object = strings.TrimSpace(object + " from " + draw.Clean(rv))
		}
	}
	return object
}

// parameter is one of a URI's query; empty if it can't be read.
func parameter(uri, name string) string {
	_, query, _ := strings.Cut(uri, "?")
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if key, value, _ := strings.Cut(pair, "="); key == name {
			text, err := url.QueryUnescape(value)
			if err != nil {
				return ""
			}
			return text
		}
	}
	return ""
}

// cells are the texts of a row.
type cells struct{ id, time, verb, resource, object, code, took, rev, try, steps, user string }

// columns are how wide the cells of a row are; 0 for those that have no room.
type columns struct{ id, time, verb, resource, object, code, took, rev, try, steps, user int }

const (
	verbWidth  = 6
	codeWidth  = 4
	tookWidth  = 7
	timeWidth  = 8
	revWidth   = 7
	tryWidth   = 3
	stepsWidth = 5
	marksWidth = 5
)

// columnsFor shares w cells among the columns. Verb, resource, object and code are always there; what else there is comes
// as there is room, and what is left is shared by resource and object.
func columnsFor(w, id int) columns {
	c := columns{id: id, verb: verbWidth, code: codeWidth, took: tookWidth}
	left := w - marksWidth - id - verbWidth - codeWidth - tookWidth - 5 // a space before each but the first
	if left >= 40 {
		c.time = timeWidth
		left -= timeWidth + 1
	}
	if more := revWidth + tryWidth + stepsWidth + 3; left >= 40+more {
		c.rev, c.try, c.steps = revWidth, tryWidth, stepsWidth
		left -= more
	}
	if left >= 50 {
		c.user = min(max(left/6, 10), 24)
		left -= c.user + 1
	}
	if left >= 60 {
		c.verb = len("deletecollection")
		left -= c.verb - verbWidth
	}
	left = max(left, 0)
	c.resource = left * 2 / 5
	c.object = left - c.resource
	return c
}

func (c columns) line(marks string, v cells) string {
	var b strings.Builder
	b.WriteString(draw.Fit(marks, marksWidth))
	first := true
	add := func(text string, w int, right bool) {
		if w <= 0 {
			return
		}
		if !first {
			b.WriteByte(' ')
		}
		first = false
		if right {
			b.WriteString(draw.FitRight(text, w))
		} else {
			b.WriteString(draw.Fit(text, w))
		}
	}
	add(v.id, c.id, false)
	add(v.time, c.time, false)
	add(v.verb, c.verb, false)
	if v.object == "" && c.object > 0 {
		add(v.resource, c.resource+1+c.object, false)
	} else {
		add(v.resource, c.resource, false)
		add(v.object, c.object, false)
	}
	add(v.code, c.code, true)
	add(v.took, c.took, true)
	add(v.rev, c.rev, true)
	add(v.try, c.try, true)
	add(v.steps, c.steps, true)
	add(v.user, c.user, false)
	return b.String()
}
