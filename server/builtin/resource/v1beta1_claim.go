package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/api/resource/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/kx-apiserver/kx/server/builtin"
)

// These types have the same fields in both versions.
var (
	statusToHub      = builtin.ViewAs[v1beta1.ResourceClaimStatus, resourcev1.ResourceClaimStatus]()
	statusFromHub    = builtin.ViewAs[resourcev1.ResourceClaimStatus, v1beta1.ResourceClaimStatus]()
	constraintsToHub = builtin.ViewAs[[]v1beta1.DeviceConstraint, []resourcev1.DeviceConstraint]()
	constraintsFrom  = builtin.ViewAs[[]resourcev1.DeviceConstraint, []v1beta1.DeviceConstraint]()
	configToHub      = builtin.ViewAs[[]v1beta1.DeviceClaimConfiguration, []resourcev1.DeviceClaimConfiguration]()
	configFromHub    = builtin.ViewAs[[]resourcev1.DeviceClaimConfiguration, []v1beta1.DeviceClaimConfiguration]()
	subToHub         = builtin.ViewAs[[]v1beta1.DeviceSubRequest, []resourcev1.DeviceSubRequest]()
	subFromHub       = builtin.ViewAs[[]resourcev1.DeviceSubRequest, []v1beta1.DeviceSubRequest]()
	selectorsToHub   = builtin.ViewAs[[]v1beta1.DeviceSelector, []resourcev1.DeviceSelector]()
	selectorsFromHub = builtin.ViewAs[[]resourcev1.DeviceSelector, []v1beta1.DeviceSelector]()
	tolerateToHub    = builtin.ViewAs[[]v1beta1.DeviceToleration, []resourcev1.DeviceToleration]()
	tolerateFromHub  = builtin.ViewAs[[]resourcev1.DeviceToleration, []v1beta1.DeviceToleration]()
	needsToHub       = builtin.ViewAs[v1beta1.CapacityRequirements, resourcev1.CapacityRequirements]()
	needsFromHub     = builtin.ViewAs[resourcev1.CapacityRequirements, v1beta1.CapacityRequirements]()
	derivedToHub     = builtin.ViewAs[[]v1beta1.DeviceDerivedAttribute, []resourcev1.DeviceDerivedAttribute]()
	derivedFromHub   = builtin.ViewAs[[]resourcev1.DeviceDerivedAttribute, []v1beta1.DeviceDerivedAttribute]()
)

func claimToHub(in *v1beta1.ResourceClaim, out *resourcev1.ResourceClaim) {
	*out = resourcev1.ResourceClaim{ObjectMeta: in.ObjectMeta, Spec: specToHub(&in.Spec), Status: *statusToHub(&in.Status)}
}

func claimFromHub(in *resourcev1.ResourceClaim, out *v1beta1.ResourceClaim) {
	*out = v1beta1.ResourceClaim{ObjectMeta: in.ObjectMeta, Spec: specFromHub(&in.Spec), Status: *statusFromHub(&in.Status)}
}

func templateToHub(in *v1beta1.ResourceClaimTemplate, out *resourcev1.ResourceClaimTemplate) {
	*out = resourcev1.ResourceClaimTemplate{
		ObjectMeta: in.ObjectMeta,
		Spec:       resourcev1.ResourceClaimTemplateSpec{ObjectMeta: in.Spec.ObjectMeta, Spec: specToHub(&in.Spec.Spec)},
	}
}

func templateFromHub(in *resourcev1.ResourceClaimTemplate, out *v1beta1.ResourceClaimTemplate) {
	*out = v1beta1.ResourceClaimTemplate{
		ObjectMeta: in.ObjectMeta,
		Spec:       v1beta1.ResourceClaimTemplateSpec{ObjectMeta: in.Spec.ObjectMeta, Spec: specFromHub(&in.Spec.Spec)},
	}
}

func specToHub(in *v1beta1.ResourceClaimSpec) resourcev1.ResourceClaimSpec {
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
		Requests:    builtin.ConvertAll(in.Devices.Requests, requestToHub),
		Constraints: *constraintsToHub(&in.Devices.Constraints),
		Config:      *configToHub(&in.Devices.Config),
	}}
}

func specFromHub(in *resourcev1.ResourceClaimSpec) v1beta1.ResourceClaimSpec {
	return v1beta1.ResourceClaimSpec{Devices: v1beta1.DeviceClaim{
		Requests:    builtin.ConvertAll(in.Devices.Requests, requestFromHub),
		Constraints: *constraintsFrom(&in.Devices.Constraints),
		Config:      *configFromHub(&in.Devices.Config),
	}}
}

// sameSpec reports whether two specs are equal in v1beta1, which shows an empty exact request like a missing one.
func sameSpec(a, b *resourcev1.ResourceClaimSpec) bool {
	return apiequality.Semantic.DeepEqual(specFromHub(a), specFromHub(b))
}

// requestToHub makes an exact request if any of its fields is set, even if the result is invalid.
func requestToHub(in *v1beta1.DeviceRequest, out *resourcev1.DeviceRequest) {
	*out = resourcev1.DeviceRequest{Name: in.Name, FirstAvailable: *subToHub(&in.FirstAvailable)}
	if in.DeviceClassName == "" && in.Selectors == nil && in.AllocationMode == "" && in.Count == 0 && in.AdminAccess == nil &&
		in.Tolerations == nil && in.Capacity == nil && in.DerivedAttributes == nil {
		return
	}
	out.Exactly = &resourcev1.ExactDeviceRequest{
		DeviceClassName:   in.DeviceClassName,
		Selectors:         *selectorsToHub(&in.Selectors),
		AllocationMode:    resourcev1.DeviceAllocationMode(in.AllocationMode),
		Count:             in.Count,
		AdminAccess:       in.AdminAccess,
		DerivedAttributes: *derivedToHub(&in.DerivedAttributes),
	}
	if len(in.Tolerations) > 0 {
		out.Exactly.Tolerations = *tolerateToHub(&in.Tolerations)
	}
	if in.Capacity != nil {
		out.Exactly.Capacity = needsToHub(in.Capacity)
	}
}

func requestFromHub(in *resourcev1.DeviceRequest, out *v1beta1.DeviceRequest) {
	*out = v1beta1.DeviceRequest{Name: in.Name, FirstAvailable: *subFromHub(&in.FirstAvailable)}
	exactly := in.Exactly
	if exactly == nil {
		return
	}
	out.DeviceClassName = exactly.DeviceClassName
	out.Selectors = *selectorsFromHub(&exactly.Selectors)
	out.AllocationMode = v1beta1.DeviceAllocationMode(exactly.AllocationMode)
	out.Count = exactly.Count
	out.AdminAccess = exactly.AdminAccess
	out.DerivedAttributes = *derivedFromHub(&exactly.DerivedAttributes)
	if len(exactly.Tolerations) > 0 {
		out.Tolerations = *tolerateFromHub(&exactly.Tolerations)
	}
	if exactly.Capacity != nil {
		out.Capacity = needsFromHub(exactly.Capacity)
	}
}
