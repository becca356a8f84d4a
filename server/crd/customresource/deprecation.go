package customresource

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/version"
)

// deprecationWarning returns the warning for clients of a deprecated version: the author's or, without any, one
// that names the version to use instead.
func deprecationWarning(crd *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) string {
	if v.DeprecationWarning != nil {
		return *v.DeprecationWarning
	}
	group, kind := crd.Spec.Group, crd.Spec.Names.Kind
	better := v.Name
	for i := range crd.Spec.Versions {
		other := &crd.Spec.Versions[i]
		if other.Served && !other.Deprecated && version.CompareKubeAwareVersionStrings(other.Name, better) > 0 {
			better = other.Name
		}
	}
	warning := fmt.Sprintf("%s/%s %s is deprecated", group, v.Name, kind)
	if better != v.Name {
		warning += fmt.Sprintf("; use %s/%s %s", group, better, kind)
	}
	return warning
}
