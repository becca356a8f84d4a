package core

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var persistentVolumeSpecPath = field.NewPath("spec")

func validatePersistentVolume(pv *corev1.PersistentVolume) field.ErrorList {
	return validatePersistentVolumeAll(pv, false)
}

// validatePersistentVolumeAll validates a volume. anyValue allows invalid label values in its node affinity.
func validatePersistentVolumeAll(pv *corev1.PersistentVolume, anyValue bool) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&pv.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, podspec.Validate(&pv.Spec, pv.Name, anyValue, persistentVolumeSpecPath)...)
	return append(errs, validateMountOptions(pv)...)
}

// validateMountOptions refuses the annotation for mount options on types of volumes that take none. The field
// mountOptions replaced the annotation.
func validateMountOptions(pv *corev1.PersistentVolume) field.ErrorList {
	s := &pv.Spec
	if s.GCEPersistentDisk != nil || s.AWSElasticBlockStore != nil || s.Glusterfs != nil || s.NFS != nil || s.RBD != nil ||
		s.Quobyte != nil || s.ISCSI != nil || s.Cinder != nil || s.CephFS != nil || s.AzureFile != nil || s.VsphereVolume != nil ||
		s.AzureDisk != nil || s.PhotonPersistentDisk != nil {
		return nil
	}
	if _, ok := pv.Annotations[corev1.MountOptionAnnotation]; !ok {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("metadata", "annotations", corev1.MountOptionAnnotation),
		"may not specify mount options for this volume type")}
}

func validatePersistentVolumeUpdate(pv, old *corev1.PersistentVolume) field.ErrorList {
	affinity := old.Spec.NodeAffinity
	errs := validatePersistentVolumeAll(pv, affinity != nil && podspec.HasBadValue(affinity.Required))
	source := pv.Spec.PersistentVolumeSource
	if was := old.Spec.CSI; source.CSI != nil && was != nil && was.ControllerExpandSecretRef == nil {
		// A client may add this secret later.
		source.CSI = source.CSI.DeepCopy()
		source.CSI.ControllerExpandSecretRef = nil
	}
	if !apiequality.Semantic.DeepEqual(source, old.Spec.PersistentVolumeSource) {
		errs = append(errs,
			field.Forbidden(persistentVolumeSpecPath.Child("persistentvolumesource"),
				fmt.Sprintf("spec.persistentvolumesource is immutable after creation\n%v",
					diff.Diff(builtin.Quote(old.Spec.PersistentVolumeSource), builtin.Quote(source)))))
	}
	errs = append(errs, apivalidation.ValidateImmutableField(pv.Spec.VolumeMode, old.Spec.VolumeMode, field.NewPath("volumeMode"))...)
	if affinity != nil && !sameNodes(pv.Spec.NodeAffinity, affinity) {
		errs = append(errs,
			field.Invalid(field.NewPath("nodeAffinity"), builtin.Quote(pv.Spec.NodeAffinity),
				"field is immutable, except for updating from beta label to GA"))
	}
	if old.Spec.VolumeAttributesClassName != nil && pv.Spec.VolumeAttributesClassName == nil {
		errs = append(errs,
			field.Forbidden(persistentVolumeSpecPath.Child("volumeAttributesClassName"), "update from non-nil value to nil is forbidden"))
	}
	return errs
}

// renamed maps the beta labels of nodes to their final names.
var renamed = map[string]string{
	corev1.LabelFailureDomainBetaZone:   corev1.LabelTopologyZone,
	corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
	"beta.kubernetes.io/os":             corev1.LabelOSStable,
	"beta.kubernetes.io/arch":           corev1.LabelArchStable,
	corev1.LabelInstanceType:            corev1.LabelInstanceTypeStable,
}

// sameNodes reports whether two affinities are equal apart from beta labels that got their final names.
func sameNodes(affinity, old *corev1.VolumeNodeAffinity) bool {
	same := apiequality.Semantic.Copy()
	// AddFunc fails only for a function of a wrong signature.
	_ = same.AddFunc(func(r, old corev1.NodeSelectorRequirement) bool {
		if renamed[old.Key] == r.Key {
			old.Key = r.Key
		}
		return apiequality.Semantic.DeepEqual(r, old)
	})
	return same.DeepEqual(affinity, old)
}

func validatePersistentVolumeStatusUpdate(pv, old *corev1.PersistentVolume) field.ErrorList {
	return builtin.ValidateObjectMetaUpdate(&pv.ObjectMeta, &old.ObjectMeta)
}
