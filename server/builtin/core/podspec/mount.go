package podspec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (v *validator) validateMounts(c *corev1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	deviceNames, devicePaths, paths := sets.New[string](), sets.New[string](), sets.New[string]()
	for _, d := range c.VolumeDevices {
		deviceNames.Insert(d.Name)
		devicePaths.Insert(d.DevicePath)
	}
	for i, m := range c.VolumeMounts {
		at := path.Index(i)
		errs = append(errs, required(at, "name", m.Name)...)
		source, ok := v.volumes[m.Name]
		if !ok {
			errs = append(errs, field.NotFound(at.Child("name"), m.Name))
		}
		errs = append(errs, required(at, "mountPath", m.MountPath)...)
		if paths.Has(m.MountPath) {
			errs = append(errs, field.Invalid(at.Child("mountPath"), m.MountPath, "must be unique"))
		}
		paths.Insert(m.MountPath)
		if deviceNames.Has(m.Name) {
			errs = append(errs, field.Invalid(at.Child("name"), m.Name, "must not already exist in volumeDevices"))
		}
		if devicePaths.Has(m.MountPath) {
			errs = append(errs, field.Invalid(at.Child("mountPath"), m.MountPath, "must not already exist as a path in volumeDevices"))
		}
		if m.SubPath != "" {
			errs = append(errs, descendingPath(m.SubPath, path.Child("subPath"))...)
		}
		if m.SubPathExpr != "" {
			if m.SubPath != "" {
				errs = append(errs, field.Invalid(at.Child("subPathExpr"), m.SubPathExpr, "subPathExpr and subPath are mutually exclusive"))
			}
			errs = append(errs, descendingPath(m.SubPathExpr, path.Child("subPathExpr"))...)
			if source.Image != nil {
				errs = append(errs, field.Invalid(at.Child("subPathExpr"), m.SubPathExpr, "not allowed in image volume sources"))
			}
		}
		errs = append(errs, validatePropagation(&m, c, path)...)
	}
	return errs
}

func validatePropagation(m *corev1.VolumeMount, c *corev1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if mode := m.MountPropagation; mode != nil {
		at := path.Child("mountPropagation")
		errs = append(errs, supportedOrEmpty(at, *mode,
			corev1.MountPropagationBidirectional, corev1.MountPropagationHostToContainer, corev1.MountPropagationNone)...)
		if *mode == corev1.MountPropagationBidirectional && !isPrivileged(c) {
			errs = append(errs, field.Forbidden(at, "Bidirectional mount propagation is available only to privileged containers"))
		}
	}
	if m.RecursiveReadOnly == nil || *m.RecursiveReadOnly == corev1.RecursiveReadOnlyDisabled {
		return errs
	}
	at := path.Child("recursiveReadOnly")
	if wrong := supportedOrEmpty(at, *m.RecursiveReadOnly,
		corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible); len(wrong) > 0 {
		return append(errs, wrong...)
	}
	if !m.ReadOnly {
		errs = append(errs, field.Forbidden(at, "may only be specified when readOnly is true"))
	}
	if m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone {
		errs = append(errs, field.Forbidden(at, "may only be specified when mountPropagation is None or not specified"))
	}
	return errs
}

func isPrivileged(c *corev1.Container) bool {
	return c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
}

func (v *validator) validateDevices(c *corev1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	mountNames, mountPaths := sets.New[string](), sets.New[string]()
	names, paths := sets.New[string](), sets.New[string]()
	for _, m := range c.VolumeMounts {
		mountNames.Insert(m.Name)
		mountPaths.Insert(m.MountPath)
	}
	for i, d := range c.VolumeDevices {
		at := path.Index(i)
		name, devicePath := at.Child("name"), at.Child("devicePath")
		errs = append(errs, required(at, "name", d.Name)...)
		if names.Has(d.Name) {
			errs = append(errs, field.Invalid(name, d.Name, "must be unique"))
		}
		source, ok := v.volumes[d.Name]
		switch {
		case !ok:
			errs = append(errs, field.NotFound(name, d.Name))
		case source.PersistentVolumeClaim == nil && source.Ephemeral == nil:
			errs = append(errs,
				field.Invalid(name, d.Name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"))
		}
		errs = append(errs, required(at, "devicePath", d.DevicePath)...)
		if paths.Has(d.DevicePath) {
			errs = append(errs, field.Invalid(devicePath, d.DevicePath, "must be unique"))
		}
		if len(noBacksteps(d.DevicePath, devicePath)) > 0 {
			errs = append(errs, field.Invalid(devicePath, d.DevicePath, "can not contain backsteps ('..')"))
		} else {
			paths.Insert(d.DevicePath)
		}
		if mountNames.Has(d.Name) {
			errs = append(errs, field.Invalid(name, d.Name, "must not already exist in volumeMounts"))
		}
		if mountPaths.Has(d.DevicePath) {
			errs = append(errs, field.Invalid(devicePath, d.DevicePath, "must not already exist as a path in volumeMounts"))
		}
		if d.Name != "" {
			names.Insert(d.Name)
		}
	}
	return errs
}
