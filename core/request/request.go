package request

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Request is one request. It has either a Verb and a resource, or a Method and a Path.
type Request struct {
	Verb        Verb
	Resource    string // group/version/plural, version/plural, or a name that discovery knows
	Namespace   string
	Name        string
	Subresource string
	Patch       PatchType // of the verb patch

	Method, Path string // Path may have a query

	Query  url.Values
	Header map[string][]string // by canonical names
	Body   string              // as it was written: YAML, JSON, or anything
}

// Raw says whether the request is a method and a path.
func (r *Request) Raw() bool { return r.Verb == "" }

// Clone is a deep copy.
func (r *Request) Clone() Request {
	c := *r
	c.Query, c.Header = url.Values(cloneValues(r.Query)), cloneValues(r.Header)
	return c
}

func cloneValues(m map[string][]string) map[string][]string {
	if len(m) == 0 {
		return nil
	}
	c := make(map[string][]string, len(m))
	for name, values := range m {
		c[name] = slices.Clone(values)
	}
	return c
}

// Title is the request in a few words.
func (r *Request) Title() string {
	if r.Raw() {
		return strings.TrimSpace(r.Method + " " + r.Path)
	}
	what := r.Resource[strings.LastIndex(r.Resource, "/")+1:]
	if r.Name != "" {
		what += "/" + r.Name
	}
	if r.Subresource != "" {
		what += "/" + r.Subresource
	}
	if r.Namespace != "" {
		what += " -n " + r.Namespace
	}
	return strings.TrimSpace(string(r.Verb) + " " + what)
}

// Verb is the action of a request, as authorization names it.
type Verb string

// The verbs.
const (
	Get              Verb = "get"
	List             Verb = "list"
	Watch            Verb = "watch"
	Create           Verb = "create"
	Update           Verb = "update"
	Patch            Verb = "patch"
	Delete           Verb = "delete"
	DeleteCollection Verb = "deletecollection"
)

// verbs are all verbs, in the order in which the screen offers them.
var verbs = []struct {
	Verb
	method string
	named  bool // it is done to one object
	body   bool // it needs a body
}{
	{Get, "GET", true, false},
	{List, "GET", false, false},
	{Watch, "GET", false, false},
	{Create, "POST", false, true},
	{Update, "PUT", true, true},
	{Patch, "PATCH", true, true},
	{Delete, "DELETE", true, false},
	{DeleteCollection, "DELETE", false, false},
}

// Verbs are all verbs.
func Verbs() []Verb {
	all := make([]Verb, len(verbs))
	for i, v := range verbs {
		all[i] = v.Verb
	}
	return all
}

// Method is the HTTP method of a verb, or nothing if there is no such verb.
func (v Verb) Method() string {
	for _, row := range verbs {
		if row.Verb == v {
			return row.method
		}
	}
	return ""
}

// Named says whether the verb needs the name of an object.
func (v Verb) Named() bool {
	for _, row := range verbs {
		if row.Verb == v {
			return row.named
		}
	}
	return false
}

// HasBody says whether the verb needs a body.
func (v Verb) HasBody() bool {
	for _, row := range verbs {
		if row.Verb == v {
			return row.body
		}
	}
	return false
}

// PatchType is the format of a patch.
type PatchType string

// The types of patches.
const (
	JSONPatch      PatchType = "json"
	MergePatch     PatchType = "merge"
	StrategicPatch PatchType = "strategic"
	ApplyPatch     PatchType = "apply"
)

// patchTypes are all types with their media types, in the order in which the screen offers them.
var patchTypes = []struct {
	PatchType
	media string
}{
	{MergePatch, "application/merge-patch+json"},
	{StrategicPatch, "application/strategic-merge-patch+json"},
	{JSONPatch, "application/json-patch+json"},
	{ApplyPatch, "application/apply-patch+yaml"},
}

// PatchTypes are all types of patches.
func PatchTypes() []PatchType {
	all := make([]PatchType, len(patchTypes))
	for i, t := range patchTypes {
		all[i] = t.PatchType
	}
	return all
}

// media is the media type of a patch, or nothing if there is no such type.
func (t PatchType) media() string {
	for _, row := range patchTypes {
		if row.PatchType == t {
			return row.media
		}
	}
	return ""
}

// patchTypeOf finds the type of a patch by its media type.
func patchTypeOf(contentType string) (PatchType, bool) {
	media, _, _ := strings.Cut(contentType, ";")
	for _, row := range patchTypes {
		if row.media == strings.TrimSpace(media) {
			return row.PatchType, true
		}
	}
	return "", false
}

// oneOf lists values for an error.
func oneOf[T ~string](all []T) string {
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = string(v)
	}
	return strings.Join(names, ", ")
}

// Check returns an error if the request is not well formed.
func (r *Request) Check() error {
	if r.Raw() {
		return r.checkRaw()
	}
	switch {
	case r.Verb.Method() == "":
		return fmt.Errorf("verb %q: there are %s", r.Verb, oneOf(Verbs()))
	case r.Method != "" || r.Path != "":
		return fmt.Errorf("a request has a verb and a resource, or a method and a path, and not both")
	case r.Resource == "":
		return fmt.Errorf("%s what? Give a resource, such as v1/configmaps or deploy", r.Verb)
	case r.Verb == Patch && r.Patch.media() == "":
		return fmt.Errorf("patch %q: there are %s", r.Patch, oneOf(PatchTypes()))
	case r.Verb != Patch && r.Patch != "":
		return fmt.Errorf("patch: only the verb patch has a type of patch")
	case r.Verb.Named() && r.Name == "":
		return fmt.Errorf("%s which one? Give a name", r.Verb)
	case r.Subresource != "" && r.Name == "":
		return fmt.Errorf("subresource %s of which object? Give a name", r.Subresource)
	case r.Name != "" && r.Subresource == "" && !r.Verb.Named():
		return fmt.Errorf("%s has no name: it is done to a collection", r.Verb)
	}
	return nil
}

func (r *Request) checkRaw() error {
	switch {
	case r.Method == "" && r.Path == "":
		return fmt.Errorf("a request has a verb (%s) and a resource, or a method and a path", oneOf(Verbs()))
	case r.Method == "" || strings.ContainsFunc(r.Method, func(c rune) bool { return c < 'A' || c > 'Z' }):
		return fmt.Errorf("method %q: give an HTTP method such as GET, in capitals", r.Method)
	case !strings.HasPrefix(r.Path, "/"):
		return fmt.Errorf("path %q: give an absolute one, such as /version", r.Path)
	case r.Resource != "" || r.Namespace != "" || r.Name != "" || r.Subresource != "" || r.Patch != "":
		return fmt.Errorf("a request with a method and a path has no resource, namespace, name, subresource or patch")
	}
	if _, err := url.ParseRequestURI(r.Path); err != nil {
		return fmt.Errorf("path %q: %w", r.Path, err)
	}
	return nil
}
