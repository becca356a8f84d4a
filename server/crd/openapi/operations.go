package openapi

import (
	"net/http"
	"path"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/server/openapi/operation"
)

// action is an operation on a custom resource.
type action struct {
	// name is the value of x-kubernetes-action.
	name, method string
	// prefix is the prefix of the operation's ID, and verb that of its description.
	prefix, verb string
	options      operation.Options
	codes        []int
}

// The actions, in the order of upstream's builder.
var (
	list = action{"list", http.MethodGet, "list", "list objects of kind ", operation.Options{Of: &metav1.ListOptions{}},
		[]int{200}}
	create = action{"post", http.MethodPost, "create", "create", operation.Options{Of: &metav1.CreateOptions{}},
		[]int{200, 201, 202}}
	deleteCollection = action{"deletecollection", http.MethodDelete, "deletecollection", "delete collection of ",
		operation.Options{Of: &metav1.ListOptions{}}, []int{200}}
	get    = action{"get", http.MethodGet, "read", "read", operation.Options{Of: &metav1.GetOptions{}}, []int{200}}
	put    = action{"put", http.MethodPut, "replace", "replace", operation.Options{Of: &metav1.UpdateOptions{}}, []int{200, 201}}
	remove = action{"delete", http.MethodDelete, "delete", "delete", operation.Options{Of: &metav1.DeleteOptions{}}, []int{200, 202}}
	change = action{"patch", http.MethodPatch, "patch", "partially update", operation.Options{Of: &metav1.PatchOptions{}}, []int{200}}

	onCollection = []action{list, create, deleteCollection}
	onItem       = []action{get, put, remove, change}
	onSub        = []action{get, put, change}
)

var (
	objectMediaTypes = []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML}
	patchMediaTypes  = []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyYAMLPatchType)}
)

// operations returns the operations of all paths of a version.
func (t *customType) operations() []*operation.Operation {
	var all []*operation.Operation
	if t.namespaced {
		everywhere := t.operation(list, "", false)
		everywhere.ID = operation.ID(list.prefix, t.gv, t.names.Kind+"ForAllNamespaces")
		all = append(all, everywhere)
	}
	for _, a := range onCollection {
		all = append(all, t.operation(a, "", t.namespaced))
	}
	for _, a := range onItem {
		all = append(all, t.operation(a, "", t.namespaced))
	}
	sub := t.version.Subresources
	if sub == nil {
		return all
	}
	for _, a := range onSub {
		if sub.Status != nil {
			all = append(all, t.operation(a, "status", t.namespaced))
		}
		if sub.Scale != nil {
			all = append(all, t.operation(a, "scale", t.namespaced))
		}
	}
	return all
}

// operation describes an action on the resource, in a namespace or not, or on a subresource.
func (t *customType) operation(a action, sub string, inNamespace bool) *operation.Operation {
	segments := []string{"/apis", t.gv.Group, t.gv.Version}
	parameters := append([]*operation.Parameter{operation.Pretty}, a.options.Parameters()...)
	scope := ""
	if inNamespace {
		segments = append(segments, "namespaces", "{namespace}")
		parameters = append(parameters, operation.Namespace)
	}
	if t.namespaced {
		scope = "Namespaced"
	}
	segments = append(segments, t.names.Plural)
	if a.name != list.name && a.name != create.name && a.name != deleteCollection.name {
		segments = append(segments, "{name}", sub)
		parameters = append(parameters, operation.NameOf(t.names.Kind))
	}
	o := &operation.Operation{
		Verb:    a.method,
		Pattern: path.Join(segments...),
		ID:      operation.ID(a.prefix, t.gv, scope+t.names.Kind+upperFirst(sub)),
		Words:   t.describe(a, sub),
		Tags:    []string{operation.Tag(t.gv)},
		Takes:   objectMediaTypes,
		Gives:   objectMediaTypes,
		Params:  parameters,
		Extensions: map[string]any{
			kindExtension:         metav1.GroupVersionKind{Group: t.gv.Group, Version: t.gv.Version, Kind: t.names.Kind},
			"x-kubernetes-action": a.name,
		},
		Codes: a.codes,
	}
	t.bodies(o, a, sub)
	return o
}

// bodies describes the request and the answer of an action.
func (t *customType) bodies(o *operation.Operation, a action, sub string) {
	object := t.model
	if sub == "scale" {
		object = scale
	}
	o.Answer = object
	switch a.name {
	case list.name:
		o.Answer = t.listModel
	case create.name, put.name:
		o.WithBody(object, true)
	case change.name:
		o.WithBody(patch, true)
		o.Takes = patchMediaTypes
	case remove.name:
		o.WithBody(deleteOptions, false)
		o.Answer = status
	case deleteCollection.name:
		o.Answer = status
	}
}

// describe returns the description of an action.
func (t *customType) describe(a action, sub string) string {
	if sub != "" {
		sub = " " + sub + " of"
	}
	switch a.name {
	case create.name, remove.name:
		return a.verb + " " + operation.Article(t.names.Kind) + t.names.Kind
	case get.name, put.name, change.name:
		return a.verb + sub + " the specified " + t.names.Kind
	default:
		return a.verb + t.names.Kind
	}
}

// upperFirst works for the names of subresources, which are ASCII.
func upperFirst(s string) string {
	if s == "" {
		return ""
	}
	return string(s[0]-'a'+'A') + s[1:]
}
