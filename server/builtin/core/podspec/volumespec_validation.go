package podspec

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// volumeSpecVolume is a spec with the name of its object and its path in the object. An inline spec has no name.
type volumeSpecVolume struct {
	*corev1.PersistentVolumeSpec
	name string
	path *field.Path
}

// Validate validates the spec of the volume of a name. anyValue allows a node affinity with values that no label can
// have.
func Validate(spec *corev1.PersistentVolumeSpec, name string, anyValue bool, path *field.Path) field.ErrorList {
	v := volumeSpecVolume{spec, name, path}
	errs := v.validateAccessModes()
	errs = append(errs, v.validateCapacity()...)
	policies := []corev1.PersistentVolumeReclaimPolicy{
		corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain,
	}
	policy, policyPath := v.PersistentVolumeReclaimPolicy, path.Child("persistentVolumeReclaimPolicy")
	if policy != "" && !slices.Contains(policies, policy) {
		errs = append(errs, field.NotSupported(policyPath, policy, policies))
	}
	if affinity := v.NodeAffinity; affinity != nil {
		at := path.Child("nodeAffinity", "required")
		if affinity.Required == nil {
			errs = append(errs, field.Required(at, "must specify required node constraints"))
		} else {
			errs = append(errs, ValidateNodeSelector(affinity.Required, anyValue, at)...)
		}
	}
	errs = append(errs, v.validateOnlySource()...)
	errs = append(errs, v.validateRecycling()...)
	if class := v.StorageClassName; class != "" {
		errs = append(errs, builtin.Invalids(path.Child("storageClassName"), class, apivalidation.NameIsDNSSubdomain(class, false))...)
	}
	errs = append(errs, validateVolumeMode(v.VolumeMode, path.Child("volumeMode"))...)
	return append(errs, v.validateAttributesClass()...)
}

const inline = "in the context of inline volumes"

// ValidateInline validates a volume without an object of its own. Only CSI volumes can be inline, and fields about
// claims are forbidden.
func ValidateInline(spec *corev1.PersistentVolumeSpec, path *field.Path) (errs field.ErrorList) {
	v := volumeSpecVolume{spec, "", path}
	forbid := func(is bool, name, message string) {
		if is {
			errs = append(errs, field.Forbidden(path.Child(name), message+" "+inline))
		}
	}
	forbid(v.ClaimRef != nil, "claimRef", "may not be specified")
	forbid(len(v.Capacity) > 0, "capacity", "may not be specified")
	if v.CSI == nil {
		errs = append(errs, field.Required(path.Child("csi"), "has to be specified "+inline))
	}
	errs = append(errs, v.validateAccessModes()...)
	policy := v.PersistentVolumeReclaimPolicy
	forbid(policy != "" && policy != corev1.PersistentVolumeReclaimRetain, "persistentVolumeReclaimPolicy", "may only be Retain")
	forbid(v.NodeAffinity != nil, "nodeAffinity", "may not be specified")
	errs = append(errs, v.validateOnlySource()...)
	errs = append(errs, v.validateRecycling()...)
	forbid(v.StorageClassName != "", "storageClassName", "may not be specified")
	forbid(v.VolumeMode != nil && *v.VolumeMode != corev1.PersistentVolumeFilesystem, "volumeMode",
		"may not specify volumeMode other than Filesystem")
	return errs
}

func (v volumeSpecVolume) validateAccessModes() (errs field.ErrorList) {
	at := v.path.Child("accessModes")
	if len(v.AccessModes) == 0 {
		errs = append(errs, field.Required(at, ""))
	}
	return append(errs, validateAccessModes(v.AccessModes, at)...)
}

func (v volumeSpecVolume) validateCapacity() (errs field.ErrorList) {
	capacity := v.path.Child("capacity")
	if len(v.Capacity) == 0 {
		errs = append(errs, field.Required(capacity, ""))
	}
	if _, ok := v.Capacity[corev1.ResourceStorage]; !ok || len(v.Capacity) > 1 {
		errs = append(errs, field.NotSupported(capacity, v.Capacity, []corev1.ResourceName{corev1.ResourceStorage}))
	}
	for _, name := range ResourceNames(v.Capacity) {
		size, at := v.Capacity[name], capacity.Key(string(name))
		if size.Value() < 0 {
			errs = append(errs, field.Invalid(at, size.Value(), "must be a valid resource quantity"))
		}
		errs = append(errs, validatePositive(size, at)...)
	}
	return errs
}

// validateRecycling refuses to recycle a hostPath of "/": recycling deletes all files.
func (v volumeSpecVolume) validateRecycling() field.ErrorList {
	if h := v.HostPath; h == nil || path.Clean(h.Path) != "/" || v.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRecycle {
		return nil
	}
	return field.ErrorList{field.Forbidden(v.path.Child("persistentVolumeReclaimPolicy"),
		"may not be 'recycle' for a hostPath mount of '/'")}
}

func (v volumeSpecVolume) validateAttributesClass() (errs field.ErrorList) {
	class, at := v.VolumeAttributesClassName, v.path.Child("volumeAttributesClassName")
	if class == nil {
		return nil
	}
	if *class == "" {
		errs = append(errs, field.Required(at, "an empty string is disallowed"))
	} else {
		errs = append(errs, builtin.Invalids(at, *class, apivalidation.NameIsDNSSubdomain(*class, false))...)
	}
	if v.CSI == nil {
		errs = append(errs, field.Required(v.path.Child("csi"), "has to be specified when using volumeAttributesClassName"))
	}
	return errs
}
