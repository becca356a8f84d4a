package core

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// persistentVolumeWarnings reports annotations that fields replaced, deprecated labels and policies, and types of
// volumes that no kubelet mounts any more.
func persistentVolumeWarnings(pv, _ *corev1.PersistentVolume) []string {
	var messages []string
	add := func(at *field.Path, message string) { messages = append(messages, fmt.Sprintf("%s: %s", at, message)) }
	for _, old := range []struct{ key, message string }{
		{corev1.BetaStorageClassAnnotation, `deprecated since v1.8; use "storageClassName" attribute instead`},
		{corev1.MountOptionAnnotation, `deprecated since v1.31; use "mountOptions" attribute instead`},
	} {
		if _, ok := pv.Annotations[old.key]; ok {
			add(field.NewPath("metadata", "annotations").Key(old.key), old.message)
		}
	}
	if pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		add(persistentVolumeSpecPath.Child("persistentVolumeReclaimPolicy"),
			"The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.")
	}
	if a := pv.Spec.NodeAffinity; a != nil && a.Required != nil {
		for i, term := range a.Required.NodeSelectorTerms {
			at := persistentVolumeSpecPath.Child("nodeAffinity", "required", "nodeSelectorTerms").Index(i).Child("matchExpressions")
			for j, e := range term.MatchExpressions {
				if message, old := podspec.DeprecatedNodeLabel(e.Key); old {
					add(at.Index(j).Child("key"), e.Key+" is "+message)
				}
			}
		}
	}
	for _, dead := range []struct {
		is            bool
		name, message string
	}{
		{pv.Spec.CephFS != nil, "cephfs", "deprecated in v1.28, non-functional in v1.31+"},
		{pv.Spec.PhotonPersistentDisk != nil, "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
		{pv.Spec.ScaleIO != nil, "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
		{pv.Spec.StorageOS != nil, "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
		{pv.Spec.Glusterfs != nil, "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
		{pv.Spec.RBD != nil, "rbd", "deprecated in v1.28, non-functional in v1.31+"},
	} {
		if dead.is {
			add(persistentVolumeSpecPath.Child(dead.name), dead.message)
		}
	}
	return messages
}
