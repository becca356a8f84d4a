package backend

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// specialPrefixes are the resources whose keys are older than their names.
var specialPrefixes = map[schema.GroupResource]string{
	{Resource: "replicationcontrollers"}:                "controllers",
	{Resource: "endpoints"}:                             "services/endpoints",
	{Resource: "services"}:                              "services/specs",
	{Resource: "nodes"}:                                 "minions",
	{Group: "extensions", Resource: "ingresses"}:        "ingress",
	{Group: "networking.k8s.io", Resource: "ingresses"}: "ingress",
}

// ResourcePrefix begins the keys of a resource, below the prefix of all: "configmaps" or "example.com/pandas".
func ResourcePrefix(resource schema.GroupResource) string {
	resource = storedAs(resource)
	if prefix, ok := specialPrefixes[resource]; ok {
		return prefix
	}
	// No two groups of kube-apiserver have a resource of the same name, so their keys have no group. Those that
	// client-go has clients for are its groups. CustomResourceDefinitions and APIServices belong to servers beside it,
	// whose keys have one.
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
