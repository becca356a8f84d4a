package podspec

import (
	corev1 "k8s.io/api/core/v1"
)

const (
	secondsPerHour = 60 * 60
	secondsPerDay  = 24 * secondsPerHour
)

func setDefaultsVolume(v *corev1.Volume) {
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	if v.Image != nil && v.Image.PullPolicy == "" {
		v.Image.PullPolicy = pullPolicyFor(v.Image.Reference)
	}
	if v.Secret != nil {
		SetDefault(&v.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	}
	if v.ConfigMap != nil {
		SetDefault(&v.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	}
	if v.DownwardAPI != nil {
		SetDefault(&v.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		setDefaultsDownwardFiles(v.DownwardAPI.Items)
	}
	if v.Projected != nil {
		SetDefault(&v.Projected.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
		for i := range v.Projected.Sources {
			setDefaultsProjection(&v.Projected.Sources[i])
		}
	}
	if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
		SetClaimDefaults(&v.Ephemeral.VolumeClaimTemplate.Spec)
	}
	setDefaultsSource(&v.VolumeSource)
}

func setDefaultsProjection(p *corev1.VolumeProjection) {
	if p.DownwardAPI != nil {
		setDefaultsDownwardFiles(p.DownwardAPI.Items)
	}
	if p.ServiceAccountToken != nil {
		SetDefault(&p.ServiceAccountToken.ExpirationSeconds, secondsPerHour)
	}
	if p.PodCertificate != nil {
		SetDefault(&p.PodCertificate.MaxExpirationSeconds, secondsPerDay)
	}
}

func setDefaultsDownwardFiles(files []corev1.DownwardAPIVolumeFile) {
	for i := range files {
		setDefaultsFieldRef(files[i].FieldRef)
	}
}

// setDefaultsSource fills in the kinds of sources that persistent volumes have too.
func setDefaultsSource(v *corev1.VolumeSource) {
	if v.HostPath != nil {
		SetDefault(&v.HostPath.Type, corev1.HostPathUnset)
	}
	if v.ISCSI != nil {
		setIfZero(&v.ISCSI.ISCSIInterface, "default")
	}
	if v.RBD != nil {
		setIfZero(&v.RBD.RBDPool, "rbd")
		setIfZero(&v.RBD.RadosUser, "admin")
		setIfZero(&v.RBD.Keyring, "/etc/ceph/keyring")
	}
	if v.AzureDisk != nil {
		SetDefault(&v.AzureDisk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		SetDefault(&v.AzureDisk.Kind, corev1.AzureSharedBlobDisk)
		SetDefault(&v.AzureDisk.FSType, "ext4")
		SetDefault(&v.AzureDisk.ReadOnly, false)
	}
	if v.ScaleIO != nil {
		setIfZero(&v.ScaleIO.StorageMode, "ThinProvisioned")
		setIfZero(&v.ScaleIO.FSType, "xfs")
	}
}
