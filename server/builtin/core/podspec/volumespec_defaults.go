package podspec

import (
	corev1 "k8s.io/api/core/v1"
)

// SetDefaults fills in the spec of a persistent volume. Sources with the same types as in pods get the same defaults.
func SetDefaults(spec *corev1.PersistentVolumeSpec) {
	RoundUpResources(spec.Capacity)
	setDefaultsSource(&corev1.VolumeSource{HostPath: spec.HostPath, AzureDisk: spec.AzureDisk})
	setDefault := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	if spec.RBD != nil {
		setDefault(&spec.RBD.RBDPool, "rbd")
		setDefault(&spec.RBD.RadosUser, "admin")
		setDefault(&spec.RBD.Keyring, "/etc/ceph/keyring")
	}
	if spec.ISCSI != nil {
		setDefault(&spec.ISCSI.ISCSIInterface, "default")
	}
	if spec.ScaleIO != nil {
		setDefault(&spec.ScaleIO.StorageMode, "ThinProvisioned")
		setDefault(&spec.ScaleIO.FSType, "xfs")
	}
}
