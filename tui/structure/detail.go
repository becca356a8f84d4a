package structure

import (
	"fmt"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/screen"
)

// tone is the style of a line.
type tone uint8

const (
	plain tone = iota
	strong
	dim
	good
	bad
)

// line is a row in the sheet of a part.
type line struct {
	text string
	tone tone
	// target is a place on a screen, and part a part in the tree, that enter leads to. At most one of them is set.
	target screen.Target
	part   string
	place  *v1alpha1.CodePlace
}

// sheet describes a part, line by line.
type sheet struct {
	w     int
	words lang.Language
	lines []line
}

// The widths of the names of properties, and of verbs.
const (
	label     = 11
	verbLabel = 16
)

// say adds text, wrapped.
func (s *sheet) say(t tone, text string) {
	for _, l := range draw.Wrap(draw.Clean(s.words.Text(text)), max(s.w, 20)) {
		s.lines = append(s.lines, line{text: l, tone: t})
	}
}

// gap adds an empty line, and below it a heading.
func (s *sheet) gap(heading string) {
	if len(s.lines) > 0 {
		s.lines = append(s.lines, line{})
	}
	if heading != "" {
		s.say(strong, heading)
	}
}

// has adds a property, unless it is empty. A long value wraps below itself.
func (s *sheet) has(name, value string) *line { return s.hasAt(label, name, value) }

func (s *sheet) hasAt(column int, name, value string) *line {
	if value == "" {
		return &line{}
	}
	first := len(s.lines)
	name = s.words.Text(name)
	for i, l := range draw.Wrap(draw.Clean(value), max(s.w-column-1, 20)) {
		if i > 0 {
			name = ""
		}
		s.lines = append(s.lines, line{text: draw.Fit(draw.Clean(name), column) + " " + l})
	}
	return &s.lines[first]
}

// code adds a place in the source.
func (s *sheet) code(name string, p v1alpha1.CodePlace) { s.codeAt(label, name, p) }

func (s *sheet) codeAt(column int, name string, p v1alpha1.CodePlace) {
	if p.Name == "" {
		return
	}
	text := p.Name
	if p.File != "" {
		text += fmt.Sprintf("  %s:%d", p.File[strings.LastIndexByte(p.File, '/')+1:], p.Line)
	}
	l := s.hasAt(column, name, text)
	if p.File != "" {
		l.place, l.target = &p, sourceAt(p)
	}
}

func sourceAt(p v1alpha1.CodePlace) screen.Target {
	return screen.ToSource{File: p.File, Line: int(p.Line), Function: p.Name, Upstream: p.Upstream, UpstreamFile: p.UpstreamFile}
}

// sheetOf describes a node in lines of w cells.
func sheetOf(t *tree, n *node, whole *v1alpha1.Structure, w int, words lang.Language) []line {
	s := &sheet{w: w, words: words}
	if n.part == nil {
		s.heading(n)
		return s.lines
	}
	part := n.part
	if whole != nil {
		part = whole
	}
	switch spec := &part.Spec; {
	case spec.Filter != nil:
		s.filter(part)
	case spec.Server != nil:
		s.server(t, part)
	case spec.Resource != nil:
		s.resource(part, whole != nil)
	case spec.Definition != nil:
		s.definition(t, part)
	case spec.Controller != nil:
		s.controller(part)
	}
	return s.lines
}

// heading lists the children of a heading.
func (s *sheet) heading(n *node) {
	s.say(strong, n.label)
	if n.note != "" {
		s.say(plain, n.note)
	}
	s.gap("")
	for _, c := range n.children {
		text, note := s.words.Text(c.label), s.words.Text(c.note)
		if note != "" {
			text = draw.Fit(text, 24) + " " + note
		}
		s.lines = append(s.lines, line{text: text, part: c.id})
	}
}

// doc adds the comment of a source place, unless the title says the same.
func (s *sheet) doc(title string, p v1alpha1.CodePlace) {
	if p.Doc != "" && strings.TrimSuffix(p.Doc, ".") != strings.TrimSuffix(title, ".") {
		s.say(dim, p.Doc)
	}
}

func (s *sheet) filter(part *v1alpha1.Structure) {
	spec, f := &part.Spec, part.Spec.Filter
	s.say(strong, spec.Title)
	s.doc(spec.Title, spec.Source)
	s.gap("")
	s.has("position", s.words.Phrase("%d, of those that a request passes", f.Position))
	s.code("source", spec.Source)
	s.has("step", f.Step).target = screen.ToRequests{Filter: "step:" + f.Step}
	s.has("upstream", f.Upstream+"  "+f.UpstreamFile)
}

func (s *sheet) server(t *tree, part *v1alpha1.Structure) {
	spec, server := &part.Spec, part.Spec.Server
	s.say(strong, spec.Title)
	s.doc(spec.Title, spec.Source)
	s.gap("")
	s.has("position", s.words.Phrase("%d, of those that are asked", server.Position))
	s.code("source", spec.Source)
	if server.Delegate == "" {
		s.has("else", s.words.Phrase("nobody is asked after it"))
	} else {
		s.has("else", s.words.Phrase("what it does not have, it leaves to %s", server.Delegate)).part = "server:" + server.Delegate
	}
	s.has("resources", fmt.Sprint(server.Resources))
	for i, gv := range server.GroupVersions {
		name := ""
		if i == 0 {
			name = "versions"
		}
		group, _, grouped := strings.Cut(gv, "/")
		if !grouped {
			group = ""
		}
		id := groupID + group
		if t.byID[groupID+gv] != nil {
			id = groupID + gv
		}
		s.has(name, gv).part = id
	}
}

func (s *sheet) resource(part *v1alpha1.Structure, whole bool) {
	spec, r := &part.Spec, part.Spec.Resource
	s.say(strong, spec.Title)
	s.gap("")
	where := s.words.Phrase("cluster: its objects are in no namespace")
	if r.Namespaced {
		where = s.words.Phrase("its objects are in namespaces")
	}
	s.has("scope", where)
	s.has("names", strings.Join(append([]string{r.Resource, r.Singular}, r.ShortNames...), ", "))
	s.has("categories", strings.Join(r.Categories, ", "))
	s.has("verbs", strings.Join(r.Verbs, " "))
	s.has("server", r.Server).part = "server:" + r.Server
	if r.Definition != "" {
		s.has("definition", r.Definition).part = "definition:" + r.Definition
	}
	stored := r.StoredAs
	if stored == "" {
		stored = s.words.Phrase("nothing is kept in etcd")
	}
	s.has("stored as", stored)
	if r.Key != "" {
		s.has("keys", r.Key).target = screen.ToKey{Key: r.Key}
	}
	if c := r.Cache; c != nil {
		s.has("cache", s.words.Phrase("%s: %d objects, %d bytes", c.State, c.Items, c.Bytes)).target = screen.ToCache{Resource: c.Name}
	} else if r.Key != "" {
		s.has("cache", s.words.Phrase("none: etcd answers all reads"))
	}
	s.has("requests", requestsOf(part)).target = screen.ToRequests{Filter: requestsOf(part)}
	if !whole {
		s.gap("")
		s.say(dim, "Its storages and routes are being fetched.")
		return
	}
	for i := range r.Storages {
		s.storage(r, &r.Storages[i])
	}
}

func (s *sheet) storage(r *v1alpha1.StructureResource, storage *v1alpha1.StructureStorage) {
	name := r.Resource
	if storage.Subresource != "" {
		name += "/" + storage.Subresource
	}
	s.gap(name + "  " + storage.Kind)
	s.code("storage", storage.Type)
	s.doc("", storage.Type)
	for _, strategy := range storage.Strategies {
		s.code(s.words.Phrase("%s by", strategy.For), strategy.Type)
	}
	root := rootOf(r)
	if len(storage.Routes) > 0 {
		s.has("paths", s.words.Phrase("below %s", root))
	}
	for i := range storage.Routes {
		route := &storage.Routes[i]
		l := s.hasAt(verbLabel, route.Verb, route.Method+" "+strings.TrimPrefix(route.Path, root))
		l.tone = good
		l.target = toSend(route)
		s.codeAt(verbLabel, "  "+s.words.Phrase("answered by"), route.Handler)
		if route.Calls != nil {
			s.codeAt(verbLabel, "  "+s.words.Phrase("which calls"), *route.Calls)
		}
	}
	for _, absence := range storage.Absent {
		s.say(bad, s.words.Phrase("no %s: %s", absence.Verb, absence.Reason))
	}
}

// rootOf returns the beginning of a resource's paths.
func rootOf(r *v1alpha1.StructureResource) string {
	if r.Group == "" {
		return "/api/" + r.Version + "/"
	}
	return "/apis/" + r.Group + "/" + r.Version + "/"
}

// toSend returns a request for a route; the user fills in the name. A watch uses the parameters of current clients.
func toSend(route *v1alpha1.StructureRoute) screen.Target {
	path := route.Path
	if route.Verb == "watch" {
		path = strings.TrimSuffix(strings.Replace(path, "/watch/", "/", 1), "/{name}") + "?watch=true"
	}
	return screen.ToSend{Method: route.Method, URI: strings.NewReplacer("{namespace}", "default", "{name}", "NAME").Replace(path)}
}

func (s *sheet) definition(t *tree, part *v1alpha1.Structure) {
	spec, d := &part.Spec, part.Spec.Definition
	s.say(strong, d.Kind+": "+spec.Title)
	s.gap("")
	s.has("group", d.Group)
	s.has("scope", d.Scope)
	for i, v := range d.Versions {
		name := ""
		if i == 0 {
			name = "versions"
		}
		l := s.has(name, versionText(v))
		if id := d.Resource + "." + v.Name + "." + d.Group; t.byID[id] != nil {
			l.part = id
		}
	}
	s.has("stored in", strings.Join(d.StoredVersions, ", "))
	s.has("requests", requestsOf(part)).target = screen.ToRequests{Filter: requestsOf(part)}
	if key := definitionKey(t, part); key != "" {
		s.has("key", key).target = screen.ToKey{Key: key}
	}
	s.code("source", spec.Source)
	s.gap("What serves it")
	if v := d.Serving; v == nil {
		s.say(dim, "Nothing yet: the next request makes it.")
	} else {
		s.has("made", s.words.Phrase("%s, in %s", v.Made.UTC().Format("2006-01-02 15:04:05.000 UTC"),
			draw.Duration(time.Duration(v.TookMicros)*time.Microsecond)))
		s.has("in use by", s.words.Phrase("%d requests", v.Requests))
		s.has("serves", strings.Join(v.Versions, ", "))
		s.has("stores", v.StorageVersion)
	}
	s.gap("Conditions")
	for _, c := range d.Conditions {
		text := c.Type + ": " + c.Status
		if c.Reason != "" {
			text += "  " + c.Reason
		}
		if c.Message != "" {
			text += ": " + c.Message
		}
		how := plain
		if c.Status != "True" {
			how = dim
		}
		s.say(how, text)
	}
}

func (s *sheet) controller(part *v1alpha1.Structure) {
	spec, c := &part.Spec, part.Spec.Controller
	s.say(strong, spec.Title)
	s.doc(spec.Title, spec.Source)
	s.gap("")
	s.has("state", s.words.Text(stateOf(c)))
	if c.Other != "" {
		s.say(bad, s.words.Phrase("The kube-controller-manager %s does the same: leave it to that one by --controllers=-*.", c.Other))
	}
	s.has("Lease of", c.Holder)
	if c.State == v1alpha1.ControllerRunning {
		s.has("waiting", s.words.Phrase("%d objects to be looked at", c.Waiting))
		s.has("working", s.words.Phrase("on %d", c.Working))
	}
	if c.Failing > 0 {
		s.gap("")
		s.say(bad, s.words.Phrase("It failed at %d, and tries again, less and less often. Last it said:", c.Failing))
		s.say(plain, c.Error)
		s.gap("")
	}
	writes := filter.Compose("agent", "kx/"+strings.TrimPrefix(part.Name, "controller:"))
	s.has("writes", writes).target = screen.ToRequests{Filter: writes}
	s.code("source", spec.Source)
}

// stateOf describes where a controller runs.
func stateOf(c *v1alpha1.StructureController) string {
	switch c.State {
	case v1alpha1.ControllerRunning:
		return "it runs in this process"
	case v1alpha1.ControllerElsewhere:
		return "another process has the Lease, or asks for it: it does not run in this one"
	}
	return "off, by --controllers"
}

func versionText(v v1alpha1.StructureVersion) string {
	words := []string{v.Name}
	for _, w := range []struct {
		is   bool
		word string
	}{{v.Served, "served"}, {!v.Served, "not served"}, {v.Storage, "stored"}, {v.Deprecated, "deprecated"}} {
		if w.is {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, ", ")
}

// definitionsResource, in definitionsGroup, is the resource of definitions themselves.
const definitionsResource, definitionsGroup = "customresourcedefinitions", "apiextensions.k8s.io"

// definitionKey returns the key of a definition's own object in etcd; empty if it is unknown.
func definitionKey(t *tree, part *v1alpha1.Structure) string {
	n := t.byID[t.resource(definitionsGroup, definitionsResource)]
	if n == nil || n.part.Spec.Resource.Key == "" {
		return ""
	}
	return n.part.Spec.Resource.Key + strings.TrimPrefix(part.Name, "definition:")
}

// requestsOf returns a filter for the requests that pass a part; empty if requests don't pass it.
func requestsOf(part *v1alpha1.Structure) string {
	group, resource := "", ""
	switch s := &part.Spec; {
	case s.Filter != nil:
		return filter.Compose("step", s.Filter.Step)
	case s.Resource != nil:
		group, resource = s.Resource.Group, s.Resource.Resource
	case s.Definition != nil:
		group, resource = s.Definition.Group, s.Definition.Resource
	}
	return filter.Compose("resource", resource, "group", group)
}
