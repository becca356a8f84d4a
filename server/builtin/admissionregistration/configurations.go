package admissionregistration

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// object is a pointer to an object: nil stands for the old one of a new object.
type object interface {
	comparable
	builtin.Object
}

// DeclareConfigurations completes what a kind of webhook configuration declares by what both kinds have in common.
// parts returns a configuration in the form that does not depend on its kind. Validate is each package's own: a
// resource is named by the package of that function.
func DeclareConfigurations[T object](r builtin.Resource[T], parts func(T) Configuration) builtin.Resource[T] {
	r.Stored = admissionregistrationv1.SchemeGroupVersion
	r.ClusterScoped = true
	r.ConditionalUpdate = true
	r.PrepareCreate = func(_ context.Context, c T) { c.SetGeneration(1) }
	r.ValidateUpdate = func(c, old T) field.ErrorList { return parts(c).ValidateUpdate(parts(old)) }
	r.Warnings = func(c, old T) []string {
		var none T
		return parts(c).Warnings(old != none)
	}
	r.Sample = `
webhooks:
- name: NAME.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {namespace: default, name: NAME}}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]`
	r.Columns = configurationColumns
	r.Row = func(c T) metav1.TableRow { return parts(c).row() }
	return r
}
