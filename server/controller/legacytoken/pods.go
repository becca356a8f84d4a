package legacytoken

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// names says whether a pod names a secret.
func names(pod *corev1.PodSpec, secret string) bool {
	is := func(ref *corev1.LocalObjectReference) bool { return ref != nil && ref.Name == secret }
	inContainer := func(c *corev1.Container) bool {
		return slices.ContainsFunc(c.EnvFrom, func(from corev1.EnvFromSource) bool {
			return from.SecretRef != nil && is(&from.SecretRef.LocalObjectReference)
		}) || slices.ContainsFunc(c.Env, func(env corev1.EnvVar) bool {
			return env.ValueFrom != nil && env.ValueFrom.SecretKeyRef != nil && is(&env.ValueFrom.SecretKeyRef.LocalObjectReference)
		})
	}
	containers := slices.Concat(pod.InitContainers, pod.Containers)
	for _, c := range pod.EphemeralContainers {
		containers = append(containers, corev1.Container(c.EphemeralContainerCommon))
	}
	return slices.ContainsFunc(pod.ImagePullSecrets, func(ref corev1.LocalObjectReference) bool { return is(&ref) }) ||
		slices.ContainsFunc(containers, func(c corev1.Container) bool { return inContainer(&c) }) ||
		slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return inVolume(&v.VolumeSource, secret, is) })
}

func inVolume(v *corev1.VolumeSource, secret string, is func(*corev1.LocalObjectReference) bool) bool {
	switch {
	case v.Secret != nil:
		return v.Secret.SecretName == secret
	case v.Projected != nil:
		return slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.Secret != nil && is(&s.Secret.LocalObjectReference) })
	case v.AzureFile != nil:
		return v.AzureFile.SecretName == secret
	case v.CephFS != nil:
		return is(v.CephFS.SecretRef)
	case v.Cinder != nil:
		return is(v.Cinder.SecretRef)
	case v.CSI != nil:
		return is(v.CSI.NodePublishSecretRef)
	case v.FlexVolume != nil:
		return is(v.FlexVolume.SecretRef)
	case v.ISCSI != nil:
		return is(v.ISCSI.SecretRef)
	case v.RBD != nil:
		return is(v.RBD.SecretRef)
	case v.ScaleIO != nil:
		return is(v.ScaleIO.SecretRef)
	case v.StorageOS != nil:
		return is(v.StorageOS.SecretRef)
	}
	return false
}
