package backend

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
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

// kubeGroups are the groups of kube-apiserver's own resources in etcd. Their keys have no group, so no two of them have a
// resource of the same name. CustomResourceDefinitions and APIServices belong to the servers beside it, which put the group
// into the key as they do for custom resources.
var kubeGroups = []string{
	"",
	"admissionregistration.k8s.io",
	"apps",
	"authentication.k8s.io",
	"authorization.k8s.io",
	"autoscaling",
	"batch",
	"certificates.k8s.io",
	"coordination.k8s.io",
	"discovery.k8s.io",
	"events.k8s.io",
	"extensions",
	"flowcontrol.apiserver.k8s.io",
	"imagepolicy.k8s.io",
	"internal.apiserver.k8s.io",
	"lifecycle.k8s.io",
	"networking.k8s.io",
	"node.k8s.io",
	"policy",
	"rbac.authorization.k8s.io",
	"resource.k8s.io",
	"scheduling.k8s.io",
	"storage.k8s.io",
	"storagemigration.k8s.io",
}

// ResourcePrefix begins the keys of a resource, below the prefix of all: "configmaps" or "example.com/pandas".
func ResourcePrefix(resource schema.GroupResource) string {
	resource = storedAs(resource)
	if prefix, ok := specialPrefixes[resource]; ok {
		return prefix
	}
	if slices.Contains(kubeGroups, resource.Group) {
		return resource.Resource
	}
	return resource.Group + "/" + resource.Resource
}

// storedAs returns the resource under which this one is stored: events have two groups and are stored once, with one codec and
// transformer.
func storedAs(resource schema.GroupResource) schema.GroupResource {
	if resource == (schema.GroupResource{Group: "events.k8s.io", Resource: "events"}) {
		return schema.GroupResource{Resource: "events"}
	}
	return resource
}
