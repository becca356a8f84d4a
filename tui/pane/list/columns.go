package list

import (
	"net/url"
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
)

// Resource names the subject of a request: its resource and group as kubectl writes them, or its path.
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

// object names the object of a request: namespace and name, as far as it has them; for a watch, also the
// resourceVersion that it starts at.
func object(s *v1alpha1.JourneySpec) string {
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

// parameter returns one parameter of a URI's query; empty if the query is malformed.
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

// cells holds the texts of a row.
type cells struct{ id, time, verb, resource, object, code, took, rev, try, steps, user string }

// columns holds the widths of a row's cells; 0 hides a cell. A row without an object uses the place of resource and
// object for both, as whole.
type columns struct{ id, time, verb, resource, object, whole, code, took, rev, try, steps, user int }

const marksWidth = 5

// least holds the smallest widths of the columns, so that they do not move with each new row. userMost limits that of
// the user.
var (
	least    = columns{id: len("#"), time: 8, verb: 6, code: 4, took: 6, rev: 4, try: 3, steps: 5, user: 8}
	userMost = 24
	usual    = 20 // the widths of resource and object where there is room, even if they need less
)

// widen makes the columns wide enough for a row.
func (c *columns) widen(v cells) {
	resource := &c.resource
	if v.object == "" {
		resource = &c.whole
	}
	for _, one := range []struct {
		w    *int
		text string
	}{
		{&c.id, v.id}, {&c.verb, v.verb}, {resource, v.resource}, {&c.object, v.object}, {&c.code, v.code}, {&c.took, v.took},
		{&c.rev, v.rev}, {&c.try, v.try}, {&c.steps, v.steps}, {&c.user, v.user},
	} {
		*one.w = max(*one.w, draw.Width(one.text))
	}
	c.user = min(c.user, userMost)
}

// cuts reports whether names of the widths in need would be cut.
func (c columns) cuts(need columns) bool {
	return c.resource < need.resource || c.object < need.object || c.resource+1+c.object < need.whole
}

// columnsFor shares w cells among the columns, by need. Verb, resource, object, code and duration are always shown;
// the others appear if they fit. Spare cells stay free, at the right.
func columnsFor(w int, need columns) columns {
	c := columns{id: need.id, verb: least.verb, code: need.code, took: need.took}
	left := w - marksWidth - c.id - c.verb - c.code - c.took - 5 // a space before each but the first
	if left >= 40 {
		c.time = need.time
		left -= c.time + 1
	}
	if more := need.rev + need.try + need.steps + 3; left >= 40+more {
		c.rev, c.try, c.steps = need.rev, need.try, need.steps
		left -= more
	}
	if left >= 41+need.user {
		c.user = need.user
		left -= c.user + 1
	}
	if more := need.verb - c.verb; left-more >= need.resource+need.object { // it is cut before they are
		c.verb += more
		left -= more
	}
	shared := draw.Share(left, need.resource, need.object)
	c.resource, c.object = shared[0], shared[1]
	spare := left - c.resource - c.object
	for _, more := range []struct {
		w    *int
		need int
	}{{&c.resource, usual}, {&c.object, usual}, {&c.object, need.whole - c.resource - 1}} {
		n := max(min(more.need-*more.w, spare), 0)
		*more.w += n
		spare -= n
	}
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
