package v1beta1

import (
	"errors"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/api/resource/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
)

// AddToScheme registers the defaults of this version and its conversions from and to resource/v1.
func AddToScheme(s *runtime.Scheme) error {
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
