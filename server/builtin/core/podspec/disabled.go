package podspec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DropDisabledFields clears the fields of features that are off by default, as if the client had not sent them. It
// keeps fields of features that the stored spec old uses. old is nil for a new object.
func DropDisabledFields(spec, old *corev1.PodSpec) {
	for _, feature := range disabledFeatures {
		inUse := false
		if old != nil {
			feature(old, func() { inUse = true }, false)
		}
		if !inUse {
			feature(spec, func() {}, true)
		}
	}
}

// disabledFeatures has a function for each feature, which visits the feature's fields. It calls used if any of them
// is set, and clears them if clear is true.
var disabledFeatures = []func(spec *corev1.PodSpec, used func(), clear bool){
	// EmptyDirVolumeMode
	func(spec *corev1.PodSpec, used func(), clear bool) {
		for i := range spec.Volumes {
			if spec.Volumes[i].EmptyDir != nil {
				take(&spec.Volumes[i].EmptyDir.Mode, used, clear)
			}
		}
	},
	// AtomicWriteVolumeUserFields
	func(spec *corev1.PodSpec, used func(), clear bool) {
		for i := range spec.Volumes {
			visitFileUsers(&spec.Volumes[i].VolumeSource, func(user **int64) { take(user, used, clear) })
		}
	},
	// VolumeBindMountOptions
	func(spec *corev1.PodSpec, used func(), clear bool) {
		VisitContainers(spec, field.NewPath("spec"), func(c *corev1.Container, _ *field.Path) {
			for i := range c.VolumeMounts {
				if len(c.VolumeMounts[i].BindMountOptions) > 0 {
					used()
				}
				if clear {
					c.VolumeMounts[i].BindMountOptions = nil
				}
			}
		})
	},
	// H2CContainerProbe
	func(spec *corev1.PodSpec, used func(), clear bool) {
		visitProbes(spec, func(h *corev1.HTTPGetAction, _ *corev1.GRPCAction) {
			if h != nil {
				take(&h.Protocol, used, clear)
			}
		})
	},
	// GRPCContainerProbeTLS
	func(spec *corev1.PodSpec, used func(), clear bool) {
		visitProbes(spec, func(_ *corev1.HTTPGetAction, g *corev1.GRPCAction) {
			if g != nil {
				take(&g.Mode, used, clear)
			}
		})
	},
	// ContainerStopSignals
	func(spec *corev1.PodSpec, used func(), clear bool) {
		VisitContainers(spec, field.NewPath("spec"), func(c *corev1.Container, _ *field.Path) {
			if c.Lifecycle != nil {
				take(&c.Lifecycle.StopSignal, used, clear)
			}
		})
	},
	// GenericWorkload
	func(spec *corev1.PodSpec, used func(), clear bool) { take(&spec.SchedulingGroup, used, clear) },
	// EvictionRequestAPI
	func(spec *corev1.PodSpec, used func(), clear bool) {
		if len(spec.EvictionResponders) > 0 {
			used()
		}
		if clear {
			spec.EvictionResponders = nil
		}
	},
}

func take[T any](field **T, used func(), clear bool) {
	if *field != nil {
		used()
	}
	if clear {
		*field = nil
	}
}

func visitProbes(spec *corev1.PodSpec, visit func(*corev1.HTTPGetAction, *corev1.GRPCAction)) {
	VisitContainers(spec, field.NewPath("spec"), func(c *corev1.Container, _ *field.Path) {
		for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			if p != nil {
				visit(p.HTTPGet, p.GRPC)
			}
		}
		if c.Lifecycle == nil {
			return
		}
		for _, h := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if h != nil {
				visit(h.HTTPGet, nil)
			}
		}
	})
}

// visitFileUsers visits the fields for the owners of files that the kubelet writes into a volume.
func visitFileUsers(v *corev1.VolumeSource, visit func(**int64)) {
	items := func(items []corev1.KeyToPath) {
		for i := range items {
			visit(&items[i].User)
		}
	}
	files := func(files []corev1.DownwardAPIVolumeFile) {
		for i := range files {
			visit(&files[i].User)
		}
	}
	if v.Secret != nil {
		visit(&v.Secret.DefaultUser)
		items(v.Secret.Items)
	}
	if v.ConfigMap != nil {
		visit(&v.ConfigMap.DefaultUser)
		items(v.ConfigMap.Items)
	}
	if v.DownwardAPI != nil {
		visit(&v.DownwardAPI.DefaultUser)
		files(v.DownwardAPI.Items)
	}
	if v.Projected == nil {
		return
	}
	visit(&v.Projected.DefaultUser)
	for i := range v.Projected.Sources {
		s := &v.Projected.Sources[i]
		if s.Secret != nil {
			items(s.Secret.Items)
		}
		if s.ConfigMap != nil {
			items(s.ConfigMap.Items)
		}
		if s.DownwardAPI != nil {
			files(s.DownwardAPI.Items)
		}
		if s.ServiceAccountToken != nil {
			visit(&s.ServiceAccountToken.User)
		}
		if s.ClusterTrustBundle != nil {
			visit(&s.ClusterTrustBundle.User)
		}
		if s.PodCertificate != nil {
			visit(&s.PodCertificate.User)
		}
	}
}
