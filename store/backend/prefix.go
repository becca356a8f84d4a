package backend

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// specialPrefixes has the resources whose keys do not begin with their names, because the keys are older.
var specialPrefixes = map[schema.GroupResource]string{
	{Resource: "replicationcontrollers"}:                "controllers",
	{Resource: "endpoints"}:                             "services/endpoints",
	{Resource: "services"}:                              "services/specs",
	{Resource: "nodes"}:                                 "minions",
	{Group: "extensions", Resource: "ingresses"}:        "ingress",
	{Group: "networking.k8s.io", Resource: "ingresses"}: "ingress",
}

// ResourcePrefix returns the part of a resource's keys after the prefix of all: "configmaps" or "example.com/pandas".
func ResourcePrefix(resource schema.GroupResource) string {
	resource = storedAs(resource)
	if prefix, ok := specialPrefixes[resource]; ok {
		return prefix
	}
	// Keys of kube-apiserver's own resources have no group: apart from events, no two of its groups have a resource of
	// the same name. Definitions, custom resources and APIServices belong to servers beside it, whose keys have the
	// group.
	if resource.Group == "" || builtins()[resource] {
		return resource.Resource
	}
	return resource.Group + "/" + resource.Resource
}

// builtins has the resources for which client-go has a type. The group does not decide: a definition may add a resource
// to any group, such as networking.k8s.io.
var builtins = sync.OnceValue(func() map[schema.GroupResource]bool {
	all := map[schema.GroupResource]bool{}
	for _, version := range clientscheme.Scheme.PrioritizedVersionsAllGroups() {
		for kind := range clientscheme.Scheme.KnownTypes(version) {
			plural, _ := meta.UnsafeGuessKindToResource(version.WithKind(kind))
			all[plural.GroupResource()] = true
		}
	}
	return all
})

// storedAs returns the resource under which this one is stored: events have two groups and are stored once, with one
// codec and transformer.
func storedAs(resource schema.GroupResource) schema.GroupResource {
	if resource == (schema.GroupResource{Group: "events.k8s.io", Resource: "events"}) {
		return schema.GroupResource{Resource: "events"}
	}
	return resource
}
