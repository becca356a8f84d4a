package openapi

import (
	"cmp"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/server/openapi/operation"
)

// Resource describes one storage of a group version: its entry in discovery, and properties for which discovery has no
// field. The name is "pods" or "pods/status". An empty group or version stands for that of the group version.
type Resource struct {
	metav1.APIResource
	// DeleteReturnsObject is true if DELETE returns the object rather than a Status.
	DeleteReturnsObject bool
	// CreateReturnsStatus is true if POST returns a Status rather than the object.
	CreateReturnsStatus bool
	// Options (optional) are the resource's own options of GET, or those of a connection.
	Options operation.Options
	// Connects lists the methods of a resource that passes requests on. Subpath is true if a path may follow.
	Connects []string
	Subpath  bool
	// StreamsText is true if GET returns text.
	StreamsText bool
	// Type and ListType (optional) are the Go types of a kind that has no built-in definition, and of its list.
	Type, ListType reflect.Type `json:"-"`
}

// action describes the operation of a verb.
type action struct {
	// verb is its name in discovery, method its HTTP method, and name its name in x-kubernetes-action.
	verb, method, name string
	// prefix begins the operation's ID.
	prefix string
	// onItem is true if the path ends with a name.
	onItem bool
	// options are the query parameters.
	options []operation.Options
	// codes are the status codes of success.
	codes []int
}

// actions lists all actions, in the order of upstream's installer.
var actions = []action{
	{"list", http.MethodGet, "list", "list", false, []operation.Options{{Of: &metav1.ListOptions{}}}, []int{200}},
	{"create", http.MethodPost, "post", "create", false, []operation.Options{{Of: &metav1.CreateOptions{}}}, []int{200, 201, 202}},
	{"deletecollection", http.MethodDelete, "deletecollection", "deletecollection", false, []operation.Options{
		{Of: &metav1.DeleteOptions{}}, {Of: &metav1.ListOptions{}, Without: []string{"watch", "allowWatchBookmarks"}}}, []int{200}},
	{"watch", http.MethodGet, "watchlist", "watch", false, []operation.Options{{Of: &metav1.ListOptions{}}}, []int{200}},
	{"get", http.MethodGet, "get", "read", true, nil, []int{200}},
	{"update", http.MethodPut, "put", "replace", true, []operation.Options{{Of: &metav1.UpdateOptions{}}}, []int{200, 201}},
	{"patch", http.MethodPatch, "patch", "patch", true, []operation.Options{{Of: &metav1.PatchOptions{}}}, []int{200, 201}},
	{"delete", http.MethodDelete, "delete", "delete", true, []operation.Options{{Of: &metav1.DeleteOptions{}}}, []int{200, 202}},
	{"watch", http.MethodGet, "watch", "watch", true, []operation.Options{{Of: &metav1.ListOptions{}}}, []int{200}},
}

var (
	objectMediaTypes = []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf}
	listMediaTypes   = append(slices.Clone(objectMediaTypes), "application/json;stream=watch",
		"application/vnd.kubernetes.protobuf;stream=watch")
	patchMediaTypes = []string{string(types.JSONPatchType), string(types.MergePatchType),
		string(types.StrategicMergePatchType), string(types.ApplyYAMLPatchType)}
)

// resourceDescription is a Resource with the fields that its operations share.
type resourceDescription struct {
	Resource
	gv schema.GroupVersion
	// kind is the resource's kind, and noun the same for people. For a subresource, noun is its parent's kind.
	kind        schema.GroupVersionKind
	noun        string
	subresource string
}

// resourceOperations returns the operations of a group version.
func resourceOperations(gv schema.GroupVersion, resources []Resource) []*operation.Operation {
	nouns := map[string]string{}
	for _, r := range resources {
		nouns[r.Name] = r.Kind
	}
	operations := []*operation.Operation{discoveryOperation(gv, rootPath(gv), "getAPIResources", "get available resources",
		definitionAPIResourceList)}
	for _, r := range resources {
		plural, subresource, _ := strings.Cut(r.Name, "/")
		d := resourceDescription{Resource: r, gv: gv, subresource: subresource, noun: cmp.Or(nouns[plural], r.Kind),
			kind: schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}}
		if r.Version == "" {
			d.kind.Group, d.kind.Version = gv.Group, gv.Version
		}
		for _, method := range r.Connects {
			operations = append(operations, d.connection(method, false))
		}
		if r.Subpath {
			for _, method := range r.Connects {
				operations = append(operations, d.connection(method, true))
			}
		}
		if r.Connects != nil {
			continue
		}
		for _, a := range actions {
			if !slices.Contains(r.Verbs, a.verb) {
				continue
			}
			operations = append(operations, d.operation(a, false))
			if (a.name == "list" || a.name == "watchlist") && r.Namespaced && subresource == "" {
				operations = append(operations, d.operation(a, true))
			}
		}
	}
	return operations
}

// operation describes an action on the resource, in one namespace or in all.
func (d *resourceDescription) operation(a action, allNamespaces bool) *operation.Operation {
	plural, _, _ := strings.Cut(d.Name, "/")
	segments := []string{rootPath(d.gv)}
	scope, suffix := "", ""
	parameters := []*operation.Parameter{operation.Pretty}
	if a.verb == "watch" {
		segments = append(segments, "watch")
	}
	if a.name == "watchlist" {
		suffix = "List"
	}
	switch {
	case allNamespaces:
		suffix += "ForAllNamespaces"
	case d.Namespaced:
		scope = "Namespaced"
		segments = append(segments, "namespaces", "{namespace}")
		parameters = append(parameters, operation.Namespace)
	}
	segments = append(segments, plural)
	if a.onItem || d.subresource != "" {
		segments = append(segments, "{name}", d.subresource)
		parameters = append(parameters, operation.NameOf(d.kind.Kind))
	}
	if a.name == "get" && d.Options.Of != nil {
		a.options = []operation.Options{d.Options}
	}
	for _, set := range a.options {
		parameters = append(parameters, set.Parameters()...)
	}
	r := &operation.Operation{
		Verb:    a.method,
		Pattern: path.Join(segments...),
		ID:      operation.ID(a.prefix, d.gv, scope+d.noun+upperFirst(d.subresource)+suffix),
		Words:   d.describe(a.name),
		Tags:    []string{operation.Tag(d.gv)},
		Takes:   []string{"*/*"},
		Gives:   objectMediaTypes,
		Params:  parameters,
		Extensions: map[string]any{
			kindExtension:         metav1.GroupVersionKind(d.kind),
			"x-kubernetes-action": a.name,
		},
		Codes: a.codes,
	}
	d.bodies(r, a.name)
	return r
}

// connection describes a method of a connection, at the resource's path or at one behind it.
func (d *resourceDescription) connection(method string, behind bool) *operation.Operation {
	o := d.operation(action{method: method, name: "connect", prefix: "connect", onItem: true,
		options: []operation.Options{d.Options}, codes: []int{200}}, false)
	o.Params = slices.DeleteFunc(o.Params, func(p *operation.Parameter) bool { return p == operation.Pretty })
	scope, suffix := "", ""
	if d.Namespaced {
		scope = "Namespaced"
	}
	if behind {
		suffix = "WithPath"
		o.Pattern += "/{path}"
		o.Params = append(o.Params, operation.Path)
	}
	o.ID = operation.ID("connect", d.gv, upperFirst(strings.ToLower(method))+scope+d.noun+upperFirst(d.subresource)+suffix)
	o.Words = "connect " + method + " requests to " + d.subresource + " of " + d.noun
	o.Gives, o.Answer = []string{"*/*"}, definitionString
	return o
}

// bodies sets the types of the request and the response of an action.
func (d *resourceDescription) bodies(r *operation.Operation, action string) {
	object := kindModel(d.kind)
	r.Answer = object
	switch action {
	case "get":
		if d.StreamsText {
			r.Answer, r.Gives = definitionString, append([]string{"text/plain"}, objectMediaTypes...)
		}
	case "list":
		r.Answer = kindModel(d.kind.GroupVersion().WithKind(d.kind.Kind + "List"))
		r.Gives = listMediaTypes
	case "watch", "watchlist":
		r.Answer = definitionWatchEvent
		r.Gives = listMediaTypes
	case "post":
		r.WithBody(object, true)
		if d.CreateReturnsStatus {
			r.Answer = definitionStatus
		}
	case "put":
		r.WithBody(object, true)
	case "patch":
		r.WithBody(definitionPatch, true)
		r.Takes = patchMediaTypes
	case "delete", "deletecollection":
		r.WithBody(definitionDeleteOptions, false)
		if action == "deletecollection" || !d.DeleteReturnsObject {
			r.Answer = definitionStatus
		}
	}
}

// describe describes an action in words.
func (d *resourceDescription) describe(action string) string {
	of := func(article string) string {
		if d.subresource != "" {
			return d.subresource + " of " + article + d.noun
		}
		return article + d.noun
	}
	switch action {
	case "list":
		if slices.Contains(d.Verbs, "watch") {
			return "list or watch objects of kind " + d.noun
		}
		return "list objects of kind " + d.noun
	case "watchlist":
		return "watch individual changes to a list of " + d.noun + ". deprecated: use the 'watch' parameter with a list operation instead."
	case "watch":
		return "watch changes to an object of kind " + d.noun + ". deprecated: use the 'watch' parameter with a list operation instead, " +
			"filtered to a single item with the 'fieldSelector' parameter."
	case "post":
		return "create " + of(operation.Article(d.noun))
	case "delete":
		return "delete " + of(operation.Article(d.noun))
	case "deletecollection":
		return "delete collection of " + d.noun
	case "get":
		return "read " + of("the specified ")
	case "put":
		return "replace " + of("the specified ")
	default:
		return "partially update " + of("the specified ")
	}
}

// rootPath returns the path of a group version.
func rootPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.Group + "/" + gv.Version
}

func upperFirst(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func compareGroupVersions(a, b schema.GroupVersion) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version))
}

// discoveryOperation describes a path of discovery.
func discoveryOperation(gv schema.GroupVersion, root, id, description string, answer operation.Model) *operation.Operation {
	verb, rest := id[:3], id[3:]
	r := &operation.Operation{Verb: http.MethodGet, Pattern: root + "/", Words: description, Answer: answer, Codes: []int{http.StatusOK},
		Takes: objectMediaTypes, Gives: objectMediaTypes}
	if root == "/version" {
		r.Takes, r.Gives = []string{runtime.ContentTypeJSON}, []string{runtime.ContentTypeJSON}
	}
	if gv.Empty() && root != "/api" {
		r.ID, r.Tags = id, []string{strings.Trim(root, "/")}
	} else {
		r.ID, r.Tags = operation.ID(verb, gv, rest), []string{operation.Tag(gv)}
	}
	return r
}

// kindModel returns the definition of a kind: the built-in one, or that of its Go type. If it has neither, the builder
// fails with the name that it looked for.
func kindModel(gvk schema.GroupVersionKind) operation.Model {
	if name, ok := namesByKind()[gvk]; ok {
		return operation.Model(name)
	}
	group := strings.Split(gvk.Group, ".")
	slices.Reverse(group)
	return operation.Model(strings.Join(append(group, gvk.Version, gvk.Kind), "."))
}
