package resource

import (
	"errors"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/api/resource/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
)

// AddV1beta1 registers the conversions and defaults of the kinds of resource.k8s.io that look different in v1beta1:
// claims, templates of claims, and slices.
//
// In comes an object of v1beta1 or of v1; out goes the same object in the other. A request for exactly one thing is
// part of the request itself in v1beta1, and so are the properties of a device part of a device that is basic. What is
// the same in both shares memory: neither side is modified.
func AddV1beta1(s *runtime.Scheme) error {
	addDefaults(s)
	return errors.Join(
		builtin.AddSureConversion(s, claimToHub), builtin.AddSureConversion(s, claimFromHub),
		builtin.AddSureConversion(s, templateToHub), builtin.AddSureConversion(s, templateFromHub),
		builtin.AddSureConversion(s, sliceToHub), builtin.AddSureConversion(s, sliceFromHub),
		builtin.AddSureConversion(s, func(in *v1beta1.ResourceClaimList, out *resourcev1.ResourceClaimList) {
			out.ListMeta, out.Items = in.ListMeta, builtin.ConvertAll(in.Items, claimToHub)
		}),
		builtin.AddSureConversion(s, func(in *resourcev1.ResourceClaimList, out *v1beta1.ResourceClaimList) {
			out.ListMeta, out.Items = in.ListMeta, builtin.ConvertAll(in.Items, claimFromHub)
		}),
		builtin.AddSureConversion(s, func(in *v1beta1.ResourceClaimTemplateList, out *resourcev1.ResourceClaimTemplateList) {
			out.ListMeta, out.Items = in.ListMeta, builtin.ConvertAll(in.Items, templateToHub)
		}),
		builtin.AddSureConversion(s, func(in *resourcev1.ResourceClaimTemplateList, out *v1beta1.ResourceClaimTemplateList) {
			out.ListMeta, out.Items = in.ListMeta, builtin.ConvertAll(in.Items, templateFromHub)
		}),
		builtin.AddSureConversion(s, func(in *v1beta1.ResourceSliceList, out *resourcev1.ResourceSliceList) {
			out.ListMeta, out.Items = in.ListMeta, builtin.ConvertAll(in.Items, sliceToHub)
		}),
		builtin.AddSureConversion(s, func(in *resourcev1.ResourceSliceList, out *v1beta1.ResourceSliceList) {
			out.ListMeta, out.Items = in.ListMeta, builtin.ConvertAll(in.Items, sliceFromHub)
		}),
	)
}
