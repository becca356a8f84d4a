package send

import (
	"net/url"
	"slices"
	"strings"

	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/tui/send/schema"
)

// form holds a request as fields. It keeps values that do not fit the present verb, for when they fit again.
type form struct {
	verb        request.Verb // empty for a method and a path
	patch       request.PatchType
	resource    string
	namespace   string
	name        string
	subresource string

	method, path string

	options map[string]string
	query   url.Values // parameters other than options
	header  map[string][]string

	version int // another after every change
}

// raw stands in the place of the verb for a request without one.
const raw = "raw"

// newForm makes a form of a request.
func newForm(r request.Request) form {
	f := form{
		verb: r.Verb, patch: r.Patch, resource: r.Resource, namespace: r.Namespace, name: r.Name, subresource: r.Subresource,
		method: r.Method, path: r.Path, options: map[string]string{}, query: url.Values{}, header: r.Clone().Header,
	}
	if f.patch == "" {
		f.patch = request.MergePatch
	}
	if f.method == "" {
		f.method, f.path = "GET", "/version"
	}
	if f.header == nil {
		f.header = map[string][]string{}
	}
	for name, values := range r.Query {
		if len(values) == 1 && f.option(name) != nil && values[0] != "" {
			f.options[name] = values[0]
		} else {
			f.query[name] = slices.Clone(values)
		}
	}
	return f
}

// verbOptions lists the options of the verb.
func (f *form) verbOptions() []request.Option {
	if f.verb == "" {
		return nil
	}
	return request.Options(f.verb, f.patch)
}

// option finds one of the verb's options, or nil.
func (f *form) option(name string) *request.Option {
	for _, o := range f.verbOptions() {
		if o.Name == name {
			return &o
		}
	}
	return nil
}

// named reports whether the request has a name.
func (f *form) named() bool { return f.verb.Named() || f.verb == request.Create && f.subresource != "" }

// below reports whether the verb may apply to a subresource.
func (f *form) below() bool { return f.verb.Named() || f.verb == request.Create }

// request returns the shown request.
func (f *form) request(body string) request.Request {
	r := request.Request{Query: url.Values{}, Body: body}
	for name, values := range f.query {
		r.Query[name] = slices.Clone(values)
	}
	if len(f.header) > 0 {
		r.Header = map[string][]string{}
		for name, values := range f.header {
			r.Header[name] = slices.Clone(values)
		}
	}
	if f.verb == "" {
		r.Method, r.Path = f.method, f.path
	} else {
		r.Verb, r.Resource, r.Namespace = f.verb, f.resource, f.namespace
		if f.verb == request.Patch {
			r.Patch = f.patch
		}
		if f.below() {
			r.Subresource = f.subresource
		}
		if f.named() {
			r.Name = f.name
		}
		for _, o := range f.verbOptions() {
			if v := f.options[o.Name]; v != "" {
				r.Query[o.Name] = []string{v}
			}
		}
	}
	if len(r.Query) == 0 {
		r.Query = nil
	}
	if !f.hasBody() {
		r.Body = ""
	}
	return r
}

// hasBody reports whether the request may have a body.
func (f *form) hasBody() bool {
	if f.verb == "" {
		return f.method != "GET" && f.method != "HEAD"
	}
	return f.verb.HasBody()
}

// bodyType returns the type of the body, as far as resources are known.
func (f *form) bodyType(r *request.Resource) schema.Description {
	of := schema.Description{Namespace: f.namespace}
	if f.named() {
		of.Name = f.name
	}
	if f.verb == request.Patch {
		of.Patch = f.patch
	}
	if r != nil {
		if kind, ok := r.KindOf(f.part()); ok {
			of.Kind = kind
		}
		if !r.Namespaced {
			of.Namespace = ""
		}
	}
	return of
}

// part returns the subresource, if the verb may apply to one.
func (f *form) part() string {
	if !f.below() {
		return ""
	}
	return f.subresource
}

// row is a line of the form.
type row struct {
	id      string
	label   string
	value   string
	help    string
	choices []string // the possible values, if they are few
	bad     string   // the problem of the value
}

// The rows other than options.
const (
	verbRow        = "verb"
	patchRow       = "patch"
	resourceRow    = "resource"
	namespaceRow   = "namespace"
	nameRow        = "name"
	subresourceRow = "subresource"
	methodRow      = "method"
	pathRow        = "path"
	queryRow       = "query "  // and a name
	headerRow      = "header " // and a name
	addQueryRow    = "+ query"
	addHeaderRow   = "+ header"
)

// rows returns the lines of the form. r is the resource, nil if it is unknown.
func (f *form) rows(r *request.Resource, loaded bool) []row {
	verb := string(f.verb)
	if verb == "" {
		verb = raw
	}
	all := []row{{id: verbRow, value: verb, help: "what is done; raw: a method and a path", choices: verbNames()}}
	if f.verb == "" {
		all = append(all,
			row{id: methodRow, value: f.method, help: "HTTP's method", choices: methods},
			row{id: pathRow, value: f.path, help: "the path, which may have a query"})
	} else {
		all = append(all, f.resourceRows(r, loaded)...)
		for _, o := range f.verbOptions() {
			all = append(all, row{id: o.Name, value: f.options[o.Name], help: o.Help, choices: optional(o.Values), bad: f.badOption(o)})
		}
	}
	for _, name := range sorted(f.query) {
		all = append(all, row{id: queryRow + name, label: name, value: strings.Join(f.query[name], ", "), help: "a query parameter"})
	}
	for _, name := range sorted(f.header) {
		all = append(all, row{id: headerRow + name, label: name, value: strings.Join(f.header[name], ", "), help: "a header"})
	}
	all = append(all, row{id: addQueryRow, help: "a query parameter: name=value"}, row{id: addHeaderRow, help: "a header: Name: value"})
	for i := range all {
		if all[i].label == "" {
			all[i].label = all[i].id
		}
	}
	return all
}

// resourceRows returns the lines about the verb's object.
func (f *form) resourceRows(r *request.Resource, loaded bool) []row {
	var all []row
	if f.verb == request.Patch {
		types := make([]string, 0, 4)
		for _, t := range request.PatchTypes() {
			types = append(types, string(t))
		}
		all = append(all, row{id: patchRow, value: string(f.patch), help: "how the patch is written", choices: types})
	}
	resource := row{id: resourceRow, value: f.resource, help: "what it is done to: type a part of a name, or a short name"}
	switch {
	case f.resource == "" || !loaded:
	case r == nil:
		resource.bad = "the server has none of this name"
	case !r.Can(f.verb, f.part()):
		resource.bad = "the server has no " + string(f.verb) + " for it"
	}
	all = append(all, resource)
	if r == nil || r.Namespaced || f.namespace != "" {
		ns := row{id: namespaceRow, value: f.namespace, help: "empty for all namespaces"}
		if r != nil && !r.Namespaced {
			ns.bad = r.Plural + " are in no namespace"
		}
		all = append(all, ns)
	}
	if f.named() {
		name := row{id: nameRow, value: f.name, help: "which one"}
		if f.name != "" && r != nil {
			name.bad = schema.NameProblem(r.Kind.Kind, f.name)
		}
		all = append(all, name)
	}
	if f.below() && (r == nil || len(r.Subresources) > 0 || f.subresource != "") {
		sub := row{id: subresourceRow, value: f.subresource, help: "a part of the object, such as its status"}
		if r != nil {
			sub.choices = subresources(r, f.verb)
		}
		all = append(all, sub)
	}
	return all
}

// subresources lists the subresources that support a verb, after an empty choice.
func subresources(r *request.Resource, v request.Verb) []string {
	all := []string{""}
	for _, s := range r.Subresources {
		if slices.Contains(s.Verbs, string(v)) {
			all = append(all, s.Name)
		}
	}
	return all
}

var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}

func verbNames() []string {
	var all []string
	for _, v := range request.Verbs() {
		all = append(all, string(v))
	}
	return append(all, raw)
}

// optional adds an empty choice.
func optional(values []string) []string {
	if len(values) == 0 {
		return nil
	}
	return append([]string{""}, values...)
}

// badOption returns the problem of an option, as far as the client can tell.
func (f *form) badOption(o request.Option) string {
	value := f.options[o.Name]
	switch {
	case o.Number && strings.ContainsFunc(value, func(r rune) bool { return r < '0' || r > '9' }):
		return "a number is wanted"
	case o.Name == "fieldManager" && value == "" && f.verb == request.Patch && f.patch == request.ApplyPatch:
		return "an apply needs one"
	}
	return ""
}

func sorted(m map[string][]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// set sets the value of a row. It returns the problem if the value is impossible.
func (f *form) set(id, value string) string {
	value = strings.TrimSpace(value)
	f.version++
	switch id {
	case verbRow:
		f.verb = request.Verb(value)
		if value == raw {
			f.verb = ""
		} else if f.verb.Method() == "" {
			return "there is no verb " + value
		}
	case patchRow:
		f.patch = request.PatchType(value)
	case resourceRow:
		f.resource = value
	case namespaceRow:
		f.namespace = value
	case nameRow:
		f.name = value
	case subresourceRow:
		f.subresource = value
	case methodRow:
		f.method = strings.ToUpper(value)
	case pathRow:
		f.path = value
	default:
		return f.setOther(id, value)
	}
	return ""
}

func (f *form) setOther(id, value string) string {
	switch {
	case id == addQueryRow:
		name, v, ok := strings.Cut(value, "=")
		if !ok || name == "" {
			return "write name=value"
		}
		f.query[name] = append(f.query[name], v)
	case id == addHeaderRow:
		name, v, ok := strings.Cut(value, ":")
		name, ok2 := request.HeaderName(name)
		if !ok || !ok2 {
			return "write Name: value"
		}
		f.header[name] = append(f.header[name], strings.TrimSpace(v))
	case strings.HasPrefix(id, queryRow):
		put(f.query, id[len(queryRow):], value)
	case strings.HasPrefix(id, headerRow):
		put(f.header, id[len(headerRow):], value)
	case value == "":
		delete(f.options, id)
	default:
		f.options[id] = value
	}
	return ""
}

func put(m map[string][]string, name, value string) {
	if value == "" {
		delete(m, name)
		return
	}
	m[name] = []string{value}
}
