package controller

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/discovery"
)

// The verbs, in the order of upstream's documents.
var (
	verbs = metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	// verbsOfTerminating are the verbs while a definition is being deleted: objects can be deleted and no
	// longer created.
	verbsOfTerminating = metav1.Verbs{"delete", "deletecollection", "get", "list", "watch"}
	verbsOfSubresource = metav1.Verbs{"get", "patch", "update"}
)

// appendResources appends the resources of a version of d: its objects and their subresources.
func appendResources(resources []metav1.APIResource, d *Definition,
	v *apiextensionsv1.CustomResourceDefinitionVersion) []metav1.APIResource {
	names := &d.Status.AcceptedNames
	namespaced := d.Spec.Scope == apiextensionsv1.NamespaceScoped
	can := verbs
	if apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Terminating) {
		can = verbsOfTerminating
	}
	resources = append(resources, metav1.APIResource{
		Name: names.Plural, SingularName: names.Singular, Namespaced: namespaced, Kind: names.Kind, Verbs: can,
		ShortNames: names.ShortNames, Categories: names.Categories, StorageVersionHash: storageVersionHash(d),
	})
	if v.Subresources == nil {
		return resources
	}
	if v.Subresources.Status != nil {
		resources = append(resources, metav1.APIResource{
			Name: names.Plural + "/status", Namespaced: namespaced, Kind: names.Kind, Verbs: verbsOfSubresource,
		})
	}
	if v.Subresources.Scale != nil {
		scale := autoscalingv1.SchemeGroupVersion
		resources = append(resources, metav1.APIResource{
			Name: names.Plural + "/scale", Namespaced: namespaced, Group: scale.Group, Version: scale.Version, Kind: "Scale",
			Verbs: verbsOfSubresource,
		})
	}
	return resources
}

// storageVersionHash is empty if the storage version is not served.
func storageVersionHash(d *Definition) string {
	for i := range d.Spec.Versions {
		if v := &d.Spec.Versions[i]; v.Storage && v.Served {
			return discovery.StorageVersionHash(d.Spec.Group, v.Name, d.Spec.Names.Kind)
		}
	}
	return ""
}
