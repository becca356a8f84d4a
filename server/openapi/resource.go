package openapi

import (
	"cmp"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Resource is what the installer says of one storage of a group version: what discovery shows (the name is "pods" or
// "pods/status"; an empty group or version means the group version's own), and what discovery has no field for.
type Resource struct {
	metav1.APIResource
	// DeleteReturnsObject says that DELETE answers with the object rather than a Status.
	DeleteReturnsObject bool
	// CreateReturnsStatus says that POST answers with a Status rather than the object.
	CreateReturnsStatus bool
}

// action is what a verb means to a description of the API.
type action struct {
	// verb is the one that discovery lists, method HTTP's, name the one in x-kubernetes-action.
	verb, method, name string
	// operation is what the operation's ID begins with.
	operation string
	// onItem says that the path ends with a name.
	onItem bool
	// options are the query parameters.
	options []optionSet
	// codes are the answers when all goes well.
	codes []int
}

// actions are all that the path of a resource can offer, in the order of upstream's installer.
var actions = []action{
	{"list", http.MethodGet, "list", "list", false, []optionSet{{of: &metav1.ListOptions{}}}, []int{200}},
	{"create", http.MethodPost, "post", "create", false, []optionSet{{of: &metav1.CreateOptions{}}}, []int{200, 201, 202}},
	{"deletecollection", http.MethodDelete, "deletecollection", "deletecollection", false, []optionSet{
		{of: &metav1.DeleteOptions{}}, {of: &metav1.ListOptions{}, without: []string{"watch", "allowWatchBookmarks"}}}, []int{200}},
	{"watch", http.MethodGet, "watchlist", "watch", false, []optionSet{{of: &metav1.ListOptions{}}}, []int{200}},
	{"get", http.MethodGet, "get", "read", true, nil, []int{200}},
	{"update", http.MethodPut, "put", "replace", true, []optionSet{{of: &metav1.UpdateOptions{}}}, []int{200, 201}},
	{"patch", http.MethodPatch, "patch", "patch", true, []optionSet{{of: &metav1.PatchOptions{}}}, []int{200, 201}},
	{"delete", http.MethodDelete, "delete", "delete", true, []optionSet{{of: &metav1.DeleteOptions{}}}, []int{200, 202}},
	{"watch", http.MethodGet, "watch", "watch", true, []optionSet{{of: &metav1.ListOptions{}}}, []int{200}},
}

var (
	objectMediaTypes = []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf}
	listMediaTypes   = append(slices.Clone(objectMediaTypes), "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
	patchMediaTypes  = []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.StrategicMergePatchType), string(types.ApplyYAMLPatchType)}
)

// described is a Resource and what its routes have in common.
type described struct {
	Resource
	gv schema.GroupVersion
	// kind is the resource's own, noun its parent's if it is a subresource.
	kind        schema.GroupVersionKind
	noun        string
	subresource string
}

// resourceRoutes are the routes of a group version.
func resourceRoutes(gv schema.GroupVersion, resources []Resource) []*route {
	nouns := map[string]string{}
	for _, r := range resources {
		nouns[r.Name] = r.Kind
	}
	routes := []*route{discoveryRoute(gv, rootPath(gv), "getAPIResources", "get available resources", definitionAPIResourceList)}
	for _, r := range resources {
		plural, subresource, _ := strings.Cut(r.Name, "/")
		d := described{Resource: r, gv: gv, subresource: subresource, noun: cmp.Or(nouns[plural], r.Kind),
			kind: schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}}
		if r.Version == "" {
			d.kind.Group, d.kind.Version = gv.Group, gv.Version
		}
		for _, a := range actions {
			if !slices.Contains(r.Verbs, a.verb) {
				continue
			}
			routes = append(routes, d.route(a, false))
			if (a.name == "list" || a.name == "watchlist") && r.Namespaced && subresource == "" {
				routes = append(routes, d.route(a, true))
			}
		}
	}
	return routes
}

// route describes an action on the resource, or on all namespaces of it.
func (d *described) route(a action, allNamespaces bool) *route {
	plural, _, _ := strings.Cut(d.Name, "/")
	segments := []string{rootPath(d.gv)}
	scope, suffix := "", ""
	parameters := []*parameter{pretty}
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
		parameters = append(parameters, namespace)
	}
	segments = append(segments, plural)
	if a.onItem || d.subresource != "" {
		segments = append(segments, "{name}", d.subresource)
		parameters = append(parameters, nameOf(d.kind.Kind))
	}
	for _, set := range a.options {
		parameters = append(parameters, set.parameters()...)
	}
	r := &route{
		method:      a.method,
		path:        path.Join(segments...),
		operation:   operationID(a.operation, d.gv, scope+d.noun+upperFirst(d.subresource)+suffix),
		description: d.describe(a.name),
		tags:        []string{tag(d.gv)},
		consumes:    []string{"*/*"},
		produces:    objectMediaTypes,
		parameters:  parameters,
		metadata: map[string]any{
			kindExtension:         metav1.GroupVersionKind(d.kind),
			"x-kubernetes-action": a.name,
		},
		codes: a.codes,
	}
	d.bodies(r, a.name)
	return r
}

// bodies says what the action takes and gives.
func (d *described) bodies(r *route, action string) {
	object := kindModel(d.kind)
	r.response = object
	switch action {
	case "list":
		r.response = kindModel(d.kind.GroupVersion().WithKind(d.kind.Kind + "List"))
		r.produces = listMediaTypes
	case "watch", "watchlist":
		r.response = definitionWatchEvent
		r.produces = listMediaTypes
	case "post":
		r.takes(object, true)
		if d.CreateReturnsStatus {
			r.response = definitionStatus
		}
	case "put":
		r.takes(object, true)
	case "patch":
		r.takes(definitionPatch, true)
		r.consumes = patchMediaTypes
	case "delete", "deletecollection":
		r.takes(definitionDeleteOptions, false)
		if action == "deletecollection" || !d.DeleteReturnsObject {
			r.response = definitionStatus
		}
	}
}

// describe says in words what an action does.
func (d *described) describe(action string) string {
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
		return "create " + of(article(d.noun))
	case "delete":
		return "delete " + of(article(d.noun))
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

// article is "a " or "an ", or nothing before a plural.
func article(noun string) string {
	switch {
	case strings.HasSuffix(noun, "s") && !strings.HasSuffix(noun, "ss"):
		return ""
	case strings.ContainsAny(noun[:min(1, len(noun))], "AEIOUaeiou"):
		return "an "
	default:
		return "a "
	}
}

// rootPath is where a group version is served.
func rootPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.Group + "/" + gv.Version
}

// operationID names an operation as generated clients know it: listAppsV1NamespacedDeployment.
func operationID(verb string, gv schema.GroupVersion, rest string) string {
	return verb + camelCase(groupName(gv), true) + camelCase(gv.Version, true) + camelCase(rest, true)
}

// tag is what clients gather operations by: apps_v1.
func tag(gv schema.GroupVersion) string {
	return strings.TrimSuffix(camelCase(groupName(gv), false)+"_"+camelCase(gv.Version, false), "_")
}

func groupName(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "core"
	}
	return strings.TrimSuffix(gv.Group, ".k8s.io")
}

// camelCase drops what an identifier may not hold and begins the next word with a capital.
func camelCase(s string, upper bool) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case unicode.IsLetter(r) || r == '_' || i > 0 && unicode.IsDigit(r):
			if upper {
				r = unicode.ToUpper(r)
			}
			b.WriteRune(r)
			upper = false
		default:
			upper = true
		}
	}
	return b.String()
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
