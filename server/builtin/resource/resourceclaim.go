package resource

import (
	"context"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

var (
	resourceClaimSpecPath = field.NewPath("spec")
	statusPath            = field.NewPath("status")
)

// ResourceClaim declares resourceclaims.resource.k8s.io, by which pods request devices.
//
// The status holds the devices that a scheduler allocated, and the drivers' reports about them. The authorizer
// decides who may write these. A label of the namespace allows administrative access to devices that other claims
// use.
func ResourceClaim(access Access) builtin.Resource[*resourcev1.ResourceClaim] {
	return builtin.Resource[*resourcev1.ResourceClaim]{
		Names:  builtin.Names{Plural: "resourceclaims", Singular: "resourceclaim"},
		List:   &resourcev1.ResourceClaimList{},
		Stored: resourcev1.SchemeGroupVersion,
		Served: []schema.GroupVersion{resourcev1.SchemeGroupVersion, resourcev1beta2.SchemeGroupVersion,
			resourcev1beta1.SchemeGroupVersion},
		Alike:   []schema.GroupVersion{resourcev1beta2.SchemeGroupVersion},
		ResetIn: []schema.GroupVersion{resourcev1beta1.SchemeGroupVersion},
		Default: func(c *resourcev1.ResourceClaim) {
			setDefaultsClaim(&c.Spec)
			setDefaultsStatus(&c.Status)
		},
		PrepareCreate:  func(_ context.Context, c *resourcev1.ResourceClaim) { dropDisabledClaim(&c.Spec, nil) },
		PrepareUpdate:  func(c, old *resourcev1.ResourceClaim) { dropDisabledClaim(&c.Spec, &old.Spec) },
		Validate:       validateResourceClaim,
		ValidateUpdate: validateResourceClaimUpdate,
		Special: builtin.Specialize(func(s builtin.Strategy) rest.RESTCreateUpdateStrategy {
			return resourceClaimStrategy{s, access}
		}),
		Status: &builtin.Status[*resourcev1.ResourceClaim]{
			Of: func(c *resourcev1.ResourceClaim) any { return &c.Status },
			Part: builtin.Part[*resourcev1.ResourceClaim]{
				Keep:  keepInStatus,
				Reset: []string{"metadata", "spec"},
				Allow: func(ctx context.Context, c, old *resourcev1.ResourceClaim) field.ErrorList {
					errs := access.Status(ctx, c, old)
					errs = append(errs, builtin.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)...)
					errs = append(errs, validateClaimStatus(c, old, statusPath)...)
					return append(errs, applyRules(ctx, resourcev1.Validate_ResourceClaimStatus, statusPath, &c.Status, &old.Status)...)
				},
			},
		},
		ReturnDeletedObject: true,
		Sample:              `spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}`,
		Columns: []builtin.Column{
			builtin.NameColumn,
			{Name: "State", Type: "string", Description: "A summary of the current state (allocated, pending, reserved, etc.)."},
			builtin.AgeColumn,
		},
		Row: func(c *resourcev1.ResourceClaim) metav1.TableRow {
			return builtin.Row(c.Name, state(c), builtin.Age(c.CreationTimestamp))
		},
	}
}

func state(c *resourcev1.ResourceClaim) string {
	var states []string
	if c.DeletionTimestamp != nil {
		states = append(states, "deleted")
	}
	switch {
	case c.Status.Allocation == nil && c.DeletionTimestamp == nil:
		states = append(states, "pending")
	case c.Status.Allocation != nil:
		states = append(states, "allocated")
		if len(c.Status.ReservedFor) > 0 {
			states = append(states, "reserved")
		}
	}
	return strings.Join(states, ",")
}

// resourceClaimStrategy adds the checks that depend on the request: the declared rules of its version, and
// administrative access by its namespace.
type resourceClaimStrategy struct {
	builtin.Strategy
	access Access
}

func (s resourceClaimStrategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	c := obj.(*resourcev1.ResourceClaim)
	errs := s.access.claim(ctx, &c.Spec, c.Namespace)
	errs = append(errs, s.Strategy.Validate(ctx, obj)...)
	return append(errs, applyRules(ctx, resourcev1.Validate_ResourceClaimSpec, resourceClaimSpecPath, &c.Spec, nil)...)
}

// ValidateUpdate refuses changes of the spec. In each version the type declares this rule. A change that v1beta1 does
// not show is refused by a written rule, which quotes the spec.
func (s resourceClaimStrategy) ValidateUpdate(ctx context.Context, obj, oldObj runtime.Object) field.ErrorList {
	c, old := obj.(*resourcev1.ResourceClaim), oldObj.(*resourcev1.ResourceClaim)
	errs := s.Strategy.ValidateUpdate(ctx, c, old)
	if apiequality.Semantic.DeepEqual(c.Spec, old.Spec) {
		return errs
	}
	if version, _ := builtin.RequestVersion(ctx); version == resourcev1beta1.SchemeGroupVersion && sameSpec(&c.Spec, &old.Spec) {
		return append(errs, builtin.ValidateImmutable(c.Spec, old.Spec, resourceClaimSpecPath)...)
	}
	return append(errs, builtin.Immutable(resourceClaimSpecPath))
}

func validateResourceClaim(c *resourcev1.ResourceClaim) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&c.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, validateClaim(&c.Spec, resourceClaimSpecPath)...)
}

func validateResourceClaimUpdate(c, old *resourcev1.ResourceClaim) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&c.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, builtin.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)...)
}

func keepInStatus(c, old *resourcev1.ResourceClaim) {
	c.Spec = old.Spec
	metav1.ResetObjectMetaForStatus(&c.ObjectMeta, &old.ObjectMeta)
	dropDisabledStatus(&c.Status, &old.Status)
	dropGone(&c.Status, &old.Status)
}
