package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/controller/work"
)

// volumeProtection keeps persistent volumes while they are bound: a volume has a finalizer until it is deleted
// and not bound.
var volumeProtection = controller{
	name: "persistentvolume-protection-controller", short: "pv-protection", does: "keep volumes while they are bound",
	account: "pv-protection-controller", workers: 1,
	follows: []schema.GroupVersionResource{corev1.SchemeGroupVersion.WithResource("persistentvolumes")}, make: each(protectVolume),
}

const volumeFinalizer = "kubernetes.io/pv-protection"

// protectVolume adds the finalizer where it is missing, and removes it where it is not needed.
func protectVolume(ctx context.Context, volumes *work.Objects[*corev1.PersistentVolume], v *corev1.PersistentVolume, cause int64) error {
	switch {
	case work.LacksFinalizer(v, volumeFinalizer):
		return volumes.Update(ctx, v, "", work.Decide(cause, protectionMissing), func(now *corev1.PersistentVolume) (bool, error) {
			return work.AddFinalizer(now, volumeFinalizer), nil
		})
	case work.WaitsForFinalizer(v, volumeFinalizer) && v.Status.Phase != corev1.VolumeBound:
		return volumes.Update(ctx, v, "", work.Decide(cause, notInUse), func(now *corev1.PersistentVolume) (bool, error) {
			return now.Status.Phase != corev1.VolumeBound && work.RemoveFinalizer(now, volumeFinalizer), nil
		})
	}
	return nil
}
