package list

import (
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

// Object is which object a request is about: namespace and name, as far as it has them.
func Object(s *v1alpha1.JourneySpec) string {
	if s.Namespace == "" || s.Resource == "namespaces" {
		return s.Name
	}
	return s.Namespace + "/" + s.Name
}

// cells are the texts of a row.
type cells struct{ id, time, verb, resource, object, code, took, user string }

// columns are how wide the cells of a row are; 0 for those that have no room.
type columns struct{ id, time, verb, resource, object, code, took, user int }

const (
	verbWidth  = 6
	codeWidth  = 4
	tookWidth  = 7
	timeWidth  = 8
	marksWidth = 4
)

// columnsFor shares w cells among the columns. Verb, resource, object and code are always there; took, time and user
// come as there is room, and what is left is shared by resource and object.
func columnsFor(w, id int) columns {
	c := columns{id: id, verb: verbWidth, code: codeWidth, took: tookWidth}
	left := w - marksWidth - id - verbWidth - codeWidth - tookWidth - 5 // a space before each but the first
	if left >= 40 {
		c.time = timeWidth
		left -= timeWidth + 1
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
	add(v.user, c.user, false)
	return b.String()
}
