package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

var csiDriverSpecPath = field.NewPath("spec")

// attachPath is misspelled as in Kubernetes.
var attachPath = csiDriverSpecPath.Child("attachedRequired")

func validateCSIDriver(d *storagev1.CSIDriver) field.ErrorList {
	return append(builtin.ValidateObjectMeta(&d.ObjectMeta, false, apivalidation.NameIsDNSSubdomain), validateSpec(&d.Spec)...)
}

func validateCSIDriverUpdate(d, old *storagev1.CSIDriver) field.ErrorList {
	errs := append(builtin.ValidateObjectMetaUpdate(&d.ObjectMeta, &old.ObjectMeta), validateSpec(&d.Spec)...)
	if !apiequality.Semantic.DeepEqual(d.Spec.AttachRequired, old.Spec.AttachRequired) {
		errs = append(errs, field.Invalid(attachPath, d.Spec.AttachRequired, apivalidation.FieldImmutableErrorMsg))
	}
	if !apiequality.Semantic.DeepEqual(d.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes) {
		errs = append(errs,
			field.Invalid(csiDriverSpecPath.Child("volumeLifecycleModes"), d.Spec.VolumeLifecycleModes,
				apivalidation.FieldImmutableErrorMsg))
	}
	return errs
}

func validateSpec(s *storagev1.CSIDriverSpec) (errs field.ErrorList) {
	errs = append(errs, required(attachPath, s.AttachRequired)...)
	errs = append(errs, required(csiDriverSpecPath.Child("podInfoOnMount"), s.PodInfoOnMount)...)
	errs = append(errs, required(csiDriverSpecPath.Child("storageCapacity"), s.StorageCapacity)...)
	policies := sets.New(storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy, storagev1.FileFSGroupPolicy, storagev1.NoneFSGroupPolicy)
	if p := s.FSGroupPolicy; p != nil && !policies.Has(*p) {
		errs = append(errs, field.NotSupported(csiDriverSpecPath.Child("fsGroupPolicy"), *p, sets.List(policies)))
	}
	errs = append(errs, validateTokenRequests(s.TokenRequests)...)
	modes := []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral}
	for _, mode := range s.VolumeLifecycleModes {
		if !sets.New(modes...).Has(mode) {
			errs = append(errs, field.NotSupported(csiDriverSpecPath.Child("volumeLifecycleModes"), mode, modes))
		}
	}
	errs = append(errs, required(csiDriverSpecPath.Child("seLinuxMount"), s.SELinuxMount)...)
	if p := s.NodeAllocatableUpdatePeriodSeconds; p != nil && *p < 10 {
		errs = append(errs,
			field.Invalid(csiDriverSpecPath.Child("nodeAllocatableUpdatePeriodSeconds"), *p, "must be greater than or equal to 10 seconds"))
	}
	if s.ServiceAccountTokenInSecrets != nil && len(s.TokenRequests) == 0 {
		errs = append(errs, field.Invalid(csiDriverSpecPath.Child("serviceAccountTokenInSecrets"), s.ServiceAccountTokenInSecrets,
			"serviceAccountTokenInSecrets is set but no tokenRequests are specified"))
	}
	return append(errs, required(csiDriverSpecPath.Child("preventPodSchedulingIfMissing"), s.PreventPodSchedulingIfMissing)...)
}

func required(path *field.Path, value *bool) field.ErrorList {
	if value != nil {
		return nil
	}
	return field.ErrorList{field.Required(path, "")}
}

// validateTokenRequests requires unique audiences, and lifetimes that the issuer of tokens grants.
func validateTokenRequests(requests []storagev1.TokenRequest) (errs field.ErrorList) {
	const shortest, longest = 10 * 60, 1 << 32
	audiences := sets.New[string]()
	for i, r := range requests {
		path := csiDriverSpecPath.Child("tokenRequests").Index(i)
		if audiences.Has(r.Audience) {
			errs = append(errs, field.Duplicate(path.Child("audience"), r.Audience))
			continue
		}
		audiences.Insert(r.Audience)
		switch s := r.ExpirationSeconds; {
		case s == nil:
		case *s < shortest:
			errs = append(errs, field.Invalid(path.Child("expirationSeconds"), *s, "may not specify a duration less than 10 minutes"))
		case *s > longest:
			errs = append(errs, field.Invalid(path.Child("expirationSeconds"), *s, "may not specify a duration larger than 2^32 seconds"))
		}
	}
	return errs
}
