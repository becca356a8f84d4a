package resource

import (
	"errors"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/api/resource/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
)

// AddV1beta1 registers the conversions and defaults of the kinds of resource.k8s.io that differ in v1beta1: claims,
// templates of claims, and slices.
//
// In v1beta1 the fields of an exact request are in the request itself, and the properties of a device are in its
// field basic. Parts with the same fields share memory between source and result: neither may be modified.
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
