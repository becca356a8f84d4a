package backend

import (
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
	// the same name. Its groups are those that client-go has clients for. CustomResourceDefinitions and APIServices
	// belong to servers beside it, whose keys have the group.
	if clientscheme.Scheme.IsGroupRegistered(resource.Group) {
		return resource.Resource
	}
	return resource.Group + "/" + resource.Resource
}

// storedAs returns the resource under which this one is stored: events have two groups and are stored once, with one
// codec and transformer.
func storedAs(resource schema.GroupResource) schema.GroupResource {
	if resource == (schema.GroupResource{Group: "events.k8s.io", Resource: "events"}) {
		return schema.GroupResource{Resource: "events"}
	}
	return resource
}
