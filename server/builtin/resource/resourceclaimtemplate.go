package resource

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var (
	resourceClaimTemplateSpecPath = field.NewPath("spec")
	claimPath                     = resourceClaimTemplateSpecPath.Child("spec")
)

// ResourceClaimTemplate declares resourceclaimtemplates.resource.k8s.io, from which a claim is made for each pod.
func ResourceClaimTemplate(access Access) builtin.Resource[*resourcev1.ResourceClaimTemplate] {
	return builtin.Resource[*resourcev1.ResourceClaimTemplate]{
		Names:  builtin.Names{Plural: "resourceclaimtemplates", Singular: "resourceclaimtemplate"},
		List:   &resourcev1.ResourceClaimTemplateList{},
		Stored: resourcev1.SchemeGroupVersion,
		Served: []schema.GroupVersion{resourcev1.SchemeGroupVersion, resourcev1beta2.SchemeGroupVersion,
			resourcev1beta1.SchemeGroupVersion},
		Alike:   []schema.GroupVersion{resourcev1beta2.SchemeGroupVersion},
		Default: func(t *resourcev1.ResourceClaimTemplate) { setDefaultsClaim(&t.Spec.Spec) },
		PrepareCreate: func(_ context.Context, t *resourcev1.ResourceClaimTemplate) {
			dropDisabledClaim(&t.Spec.Spec, nil)
		},
		PrepareUpdate: func(t, old *resourcev1.ResourceClaimTemplate) {
			dropDisabledClaim(&t.Spec.Spec, &old.Spec.Spec)
		},
		Validate:       validateResourceClaimTemplate,
		ValidateUpdate: validateResourceClaimTemplateUpdate,
		Special: builtin.Specialize(func(s builtin.Strategy) rest.RESTCreateUpdateStrategy {
			return resourceClaimTemplateStrategy{s, access}
		}),
		ReturnDeletedObject: true,
		Sample:              `spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}}`,
		Columns:             []builtin.Column{builtin.NameColumn, builtin.AgeColumn},
		Row: func(t *resourcev1.ResourceClaimTemplate) metav1.TableRow {
			return builtin.Row(t.Name, builtin.Age(t.CreationTimestamp))
		},
	}
}

// resourceClaimTemplateStrategy adds the checks that depend on the request: the declared rules of its version, and
// administrative access by its namespace.
type resourceClaimTemplateStrategy struct {
	builtin.Strategy
	access Access
}

func (s resourceClaimTemplateStrategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	t := obj.(*resourcev1.ResourceClaimTemplate)
	errs := s.access.claim(ctx, &t.Spec.Spec, t.Namespace)
	errs = append(errs, s.Strategy.Validate(ctx, obj)...)
	return append(errs, applyRules(ctx, resourcev1.Validate_ResourceClaimSpec, claimPath, &t.Spec.Spec, nil)...)
}

func (s resourceClaimTemplateStrategy) ValidateUpdate(ctx context.Context, obj, oldObj runtime.Object) field.ErrorList {
	t, old := obj.(*resourcev1.ResourceClaimTemplate), oldObj.(*resourcev1.ResourceClaimTemplate)
	errs := s.Strategy.ValidateUpdate(ctx, t, old)
	return append(errs, applyRules(ctx, resourcev1.Validate_ResourceClaimSpec, claimPath, &t.Spec.Spec, &old.Spec.Spec)...)
}

func validateResourceClaimTemplate(t *resourcev1.ResourceClaimTemplate) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&t.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, podspec.ValidateTemplateMeta(&t.Spec.ObjectMeta, resourceClaimTemplateSpecPath.Child("metadata"))...)
	return append(errs, validateClaim(&t.Spec.Spec, claimPath)...)
}

// validateResourceClaimTemplateUpdate refuses a changed spec, and validates it all the same.
func validateResourceClaimTemplateUpdate(t, old *resourcev1.ResourceClaimTemplate) field.ErrorList {
	errs := append(validateResourceClaimTemplate(t), builtin.ValidateObjectMetaUpdate(&t.ObjectMeta, &old.ObjectMeta)...)
	return append(errs, builtin.ValidateImmutable(t.Spec, old.Spec, resourceClaimTemplateSpecPath)...)
}
