package storage

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

const (
	maxConditions     = 16
	maxReason         = 256
	csiNodeMaxMessage = 1024
)

func validateCSINodeStatus(n, old *storagev1.CSINode) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&n.ObjectMeta, &old.ObjectMeta)
	names := sets.New[string]()
	for i, health := range n.Status.StorageHealth {
		path := field.NewPath("status", "storageHealth").Index(i)
		if names.Has(health.Name) {
			errs = append(errs, field.Duplicate(path, health.Name))
		}
		names.Insert(health.Name)
		errs = append(errs, podspec.ValidateDriverName(health.Name, path.Child("name"))...)
		if count := len(health.HealthConditions); count > maxConditions {
			errs = append(errs, field.TooMany(path.Child("healthConditions"), count, maxConditions))
			continue
		}
		for j := range health.HealthConditions {
			errs = append(errs, validateCondition(&health.HealthConditions[j], path.Child("healthConditions").Index(j))...)
		}
	}
	return errs
}

var (
	statuses    = sets.New(storagev1.StorageUnreachable, storagev1.StorageDegraded)
	accessModes = sets.New(corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOncePod)
	volumeModes = []corev1.PersistentVolumeMode{corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeBlock}
)

func validateCondition(c *storagev1.StorageHealthCondition, path *field.Path) (errs field.ErrorList) {
	if !statuses.Has(c.Status) {
		errs = append(errs, field.NotSupported(path.Child("status"), c.Status, sets.List(statuses)))
	}
	if c.Reason == "" {
		errs = append(errs, field.Required(path.Child("reason"), ""))
	} else {
		for _, msg := range metav1validation.IsValidConditionReason(c.Reason) {
			errs = append(errs, field.Invalid(path.Child("reason"), c.Reason, msg))
		}
		if len(c.Reason) > maxReason {
			errs = append(errs, field.TooLong(path.Child("reason"), c.Reason, maxReason))
		}
	}
	if len(c.Message) > csiNodeMaxMessage {
		errs = append(errs, field.TooLong(path.Child("message"), c.Message, csiNodeMaxMessage))
	}
	if m := c.AccessMode; m != nil && !accessModes.Has(*m) {
		errs = append(errs, field.NotSupported(path.Child("accessMode"), *m, sets.List(accessModes)))
	}
	if m := c.VolumeMode; m != nil && *m != volumeModes[0] && *m != volumeModes[1] {
		errs = append(errs, field.NotSupported(path.Child("volumeMode"), *m, volumeModes))
	}
	return errs
}
