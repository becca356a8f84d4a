package podspec

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The kubelet reads these annotations. Fields have replaced most of them.

const appArmorPrefix = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix

// ValidateAnnotations checks the kubelet's annotations of a pod or a template.
func ValidateAnnotations(annotations map[string]string, spec *corev1.PodSpec, path *field.Path, opts Options) field.ErrorList {
	var errs field.ErrorList
	if value, ok := annotations[corev1.MirrorPodAnnotationKey]; ok && spec.NodeName == "" {
		errs = append(errs,
			field.Invalid(path.Key(corev1.MirrorPodAnnotationKey), value, "must set spec.nodeName if mirror pod annotation is set"))
	}
	if value := annotations[corev1.TolerationsAnnotationKey]; value != "" {
		var tolerations []corev1.Toleration
		if err := json.Unmarshal([]byte(value), &tolerations); err != nil {
			errs = append(errs, field.Invalid(path, corev1.TolerationsAnnotationKey, err.Error()))
		} else {
			errs = append(errs, ValidateTolerations(tolerations, path.Child(corev1.TolerationsAnnotationKey))...)
		}
	}
	if !opts.Tolerated.DeletionCost && !validDeletionCost(annotations) {
		errs = append(errs, field.Invalid(path.Key(corev1.PodDeletionCost), annotations[corev1.PodDeletionCost], "must be a 32bit integer"))
	}
	for _, key := range sets.List(sets.KeySet(annotations)) {
		value := annotations[key]
		switch {
		case key == corev1.SeccompPodAnnotationKey || strings.HasPrefix(key, corev1.SeccompContainerAnnotationKeyPrefix):
			errs = append(errs, seccompAnnotation(value, path.Child(key))...)
		case strings.HasPrefix(key, appArmorPrefix):
			container := strings.TrimPrefix(key, appArmorPrefix)
			if !hasContainer(spec, container) {
				errs = append(errs, field.Invalid(path.Key(key), container, "container not found"))
			}
			if !validAppArmorAnnotation(value) {
				errs = append(errs, field.Invalid(path.Key(key), value, fmt.Sprintf("invalid AppArmor profile name: %q", value)))
			}
		}
	}
	return errs
}

func seccompAnnotation(value string, path *field.Path) field.ErrorList {
	switch value {
	case corev1.SeccompProfileRuntimeDefault, corev1.DeprecatedSeccompProfileDockerDefault, corev1.SeccompProfileNameUnconfined:
		return nil
	}
	if local, ok := strings.CutPrefix(value, corev1.SeccompLocalhostProfileNamePrefix); ok {
		return descendingPath(local, path)
	}
	return field.ErrorList{field.Invalid(path, value, "must be a valid seccomp profile")}
}

func validAppArmorAnnotation(value string) bool {
	switch value {
	case "", corev1.DeprecatedAppArmorBetaProfileRuntimeDefault, corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return true
	}
	return strings.HasPrefix(value, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
}

// AppArmorProfile converts an annotation to the field's form, and returns nil if it is invalid.
func AppArmorProfile(annotation string) *corev1.AppArmorProfile {
	switch annotation {
	case corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	case corev1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	}
	name, ok := strings.CutPrefix(annotation, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
	if !ok || name == "" || strings.TrimSpace(name) != name {
		return nil
	}
	return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: &name}
}

func hasContainer(spec *corev1.PodSpec, name string) bool {
	found := false
	VisitContainers(spec, field.NewPath("spec"), func(c *corev1.Container, _ *field.Path) { found = found || c.Name == name })
	return found
}

// ValidateProfilesMatch requires that an annotation and the field that replaced it are equal.
func ValidateProfilesMatch(meta *metav1.ObjectMeta, spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	match := func(kind, key, mode string, localhost *string, at *field.Path, values map[string][]string) {
		annotation, ok := meta.Annotations[key]
		if !ok {
			return
		}
		if mode != "Localhost" {
			if want, known := values[mode]; known && annotation != want[0] && annotation != want[len(want)-1] {
				errs = append(errs, field.Forbidden(at.Child("type"), kind+" type in annotation and field must match"))
			}
			return
		}
		file, isLocal := strings.CutPrefix(annotation, corev1.SeccompLocalhostProfileNamePrefix)
		if !isLocal {
			errs = append(errs, field.Forbidden(at.Child("type"), kind+" type in annotation and field must match"))
		} else if localhost == nil || file != *localhost {
			errs = append(errs, field.Forbidden(at.Child("localhostProfile"), kind+" profile in annotation and field must match"))
		}
	}
	seccomp := map[string][]string{
		"Unconfined":     {corev1.SeccompProfileNameUnconfined},
		"RuntimeDefault": {corev1.SeccompProfileRuntimeDefault, corev1.DeprecatedSeccompProfileDockerDefault},
	}
	appArmor := map[string][]string{
		"Unconfined":     {corev1.DeprecatedAppArmorBetaProfileNameUnconfined},
		"RuntimeDefault": {corev1.DeprecatedAppArmorBetaProfileRuntimeDefault},
	}
	pod := spec.SecurityContext
	if pod != nil && pod.SeccompProfile != nil {
		match("seccomp", corev1.SeccompPodAnnotationKey, string(pod.SeccompProfile.Type), pod.SeccompProfile.LocalhostProfile,
			path.Child("securityContext", "seccompProfile"), seccomp)
	}
	windows := spec.OS != nil && spec.OS.Name == corev1.Windows
	VisitContainers(spec, path, func(c *corev1.Container, at *field.Path) {
		var profile *corev1.AppArmorProfile
		if pod != nil {
			profile = pod.AppArmorProfile
		}
		if own := c.SecurityContext; own != nil {
			if p := own.SeccompProfile; p != nil {
				match("seccomp", corev1.SeccompContainerAnnotationKeyPrefix+c.Name, string(p.Type), p.LocalhostProfile,
					at.Child("securityContext", "seccompProfile"), seccomp)
			}
			if own.AppArmorProfile != nil {
				profile = own.AppArmorProfile
			}
		}
		if profile != nil && !windows {
			match("apparmor", appArmorPrefix+c.Name, string(profile.Type), profile.LocalhostProfile,
				at.Child("securityContext", "appArmorProfile"), appArmor)
		}
	})
	return errs
}
