package admissionregistration

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// object is a pointer to an object. It is comparable with nil, which the old object is on creation.
type object interface {
	comparable
	builtin.Object
}

// declareConfigurations adds the common parts of both kinds of webhook configurations to r. parts converts a
// configuration to the form that does not depend on its kind. The caller sets Validate: its package names the
// resource.
func declareConfigurations[T object](r builtin.Resource[T], parts func(T) Configuration) builtin.Resource[T] {
	r.Stored = admissionregistrationv1.SchemeGroupVersion
	r.ClusterScoped = true
	r.ConditionalUpdate = true
	r.PrepareCreate = func(_ context.Context, c T) { c.SetGeneration(1) }
	r.ValidateUpdate = func(c, old T) field.ErrorList { return parts(c).ValidateUpdate(parts(old)) }
	r.Warnings = func(c, old T) []string {
		var none T
		return parts(c).warnings(old != none)
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
