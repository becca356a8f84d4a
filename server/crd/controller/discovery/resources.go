package discovery

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/crd/controller/work"
	"github.com/kx-apiserver/kx/server/discovery"
)

// In the order in which clients know them.
var (
	verbs = metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	// verbsOfTerminating are those of a definition that is being deleted: objects come to an end, and no new ones come.
	verbsOfTerminating = metav1.Verbs{"delete", "deletecollection", "get", "list", "watch"}
	verbsOfSubresource = metav1.Verbs{"get", "patch", "update"}
)

// appendResources appends what a version of d offers: its objects and their subresources.
func appendResources(resources []metav1.APIResource, d *work.Definition, v *apiextensionsv1.CustomResourceDefinitionVersion) []metav1.APIResource {
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

// storageVersionHash is empty if clients can't see objects in the version in which they are stored.
func storageVersionHash(d *work.Definition) string {
	for i := range d.Spec.Versions {
		if v := &d.Spec.Versions[i]; v.Storage && v.Served {
			return discovery.StorageVersionHash(d.Spec.Group, v.Name, d.Spec.Names.Kind)
		}
	}
	return ""
}
