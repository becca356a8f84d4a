package podspec

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	envFieldPaths = sets.New("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
		"spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs")
	volumeFieldPaths = sets.New("metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid")

	// downwardFieldPaths lists all fields of the downward API, whether they are allowed in variables, volumes or
	// nowhere.
	downwardFieldPaths = envFieldPaths.Union(volumeFieldPaths).Insert("spec.restartPolicy", "spec.schedulerName", "status.phase")

	resourceFieldNames = sets.New("limits.cpu", "limits.memory", "limits.ephemeral-storage",
		"requests.cpu", "requests.memory", "requests.ephemeral-storage")
	byteDivisors = sets.New("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
)

func (v *validator) validateEnv(vars []corev1.EnvVar, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, ev := range vars {
		at := path.Index(i)
		if ev.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		} else {
			errs = append(errs, invalid(at.Child("name"), ev.Name, validation.IsRelaxedEnvVarName(ev.Name))...)
		}
		if ev.ValueFrom != nil {
			errs = append(errs, v.validateValueFrom(ev, at.Child("valueFrom"))...)
		}
	}
	return errs
}

func (v *validator) validateValueFrom(ev corev1.EnvVar, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	from, sources := ev.ValueFrom, 0
	if from.FieldRef != nil {
		sources++
		errs = append(errs, validateFieldRef(from.FieldRef, envFieldPaths, path.Child("fieldRef"))...)
	}
	if from.ResourceFieldRef != nil {
		sources++
		errs = append(errs, validateResourceFieldRef(from.ResourceFieldRef, path.Child("resourceFieldRef"), false)...)
	}
	if ref := from.ConfigMapKeyRef; ref != nil {
		sources++
		errs = append(errs, validateKeyRef(ref.Name, ref.Key, path.Child("configMapKeyRef"))...)
	}
	if ref := from.SecretKeyRef; ref != nil {
		sources++
		errs = append(errs, validateKeyRef(ref.Name, ref.Key, path.Child("secretKeyRef"))...)
	}
	if from.FileKeyRef != nil {
		sources++
		errs = append(errs, v.validateFileKeyRef(from.FileKeyRef, path.Child("fileKeyRef"))...)
	}
	switch {
	case sources == 0:
		errs = append(errs,
			field.Invalid(path, "",
				"must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"))
	case ev.Value != "":
		errs = append(errs, field.Invalid(path, "", "may not be specified when `value` is not empty"))
	case sources > 1:
		errs = append(errs, field.Invalid(path, "", "may not have more than one field specified at a time"))
	}
	return errs
}

func validateKeyRef(name, key string, path *field.Path) field.ErrorList {
	errs := invalid(path.Child("name"), name, apivalidation.NameIsDNSSubdomain(name, false))
	if key == "" {
		return append(errs, field.Required(path.Child("key"), ""))
	}
	return append(errs, invalid(path.Child("key"), key, validation.IsConfigMapKey(key))...)
}

func (v *validator) validateFileKeyRef(ref *corev1.FileKeySelector, path *field.Path) field.ErrorList {
	errs := required(path, "key", ref.Key)
	if ref.Key != "" {
		errs = append(errs, invalid(path.Child("key"), ref.Key, validation.IsRelaxedEnvVarName(ref.Key))...)
	}
	errs = append(errs, requiredLabel(ref.VolumeName, path.Child("volumeName"))...)
	if ref.Path == "" {
		return append(errs, field.Required(path.Child("path"), ""))
	}
	return append(errs, noBacksteps(ref.Path, path.Child("path"))...)
}

// validateEnvFileVolumes requires that files for variables are in volumes that a container can write.
func (v *validator) validateEnvFileVolumes(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	VisitContainers(v.spec, path, func(c *corev1.Container, at *field.Path) {
		for i, ev := range c.Env {
			if ev.ValueFrom == nil || ev.ValueFrom.FileKeyRef == nil {
				continue
			}
			name := ev.ValueFrom.FileKeyRef.VolumeName
			here := at.Child("env").Index(i).Child("valueFrom", "fileKeyRef", "volumeName")
			volume := slices.IndexFunc(v.spec.Volumes, func(volume corev1.Volume) bool { return volume.Name == name })
			if volume < 0 {
				errs = append(errs, field.NotFound(here, name))
			} else if v.spec.Volumes[volume].EmptyDir == nil {
				errs = append(errs, field.Invalid(here, name, "referenced volume must be of type emptyDir"))
			}
		}
	})
	return errs
}

func (v *validator) validateEnvFrom(sources []corev1.EnvFromSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	name := func(value string, at *field.Path) field.ErrorList {
		if value == "" {
			return field.ErrorList{field.Required(at, "")}
		}
		return invalid(at, value, apivalidation.NameIsDNSSubdomain(value, true))
	}
	for i, s := range sources {
		at := path.Index(i)
		if s.Prefix != "" {
			errs = append(errs, invalid(at.Child("prefix"), s.Prefix, validation.IsRelaxedEnvVarName(s.Prefix))...)
		}
		if s.ConfigMapRef != nil {
			errs = append(errs, name(s.ConfigMapRef.Name, at.Child("configMapRef", "name"))...)
		}
		if s.SecretRef != nil {
			errs = append(errs, name(s.SecretRef.Name, at.Child("secretRef", "name"))...)
		}
		switch {
		case s.ConfigMapRef == nil && s.SecretRef == nil:
			errs = append(errs, field.Invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
		case s.ConfigMapRef != nil && s.SecretRef != nil:
			errs = append(errs, field.Invalid(path, "", "may not have more than one field specified at a time"))
		}
	}
	return errs
}

// validateFieldRef validates a reference to a field of the pod itself, such as metadata.labels['app'].
func validateFieldRef(ref *corev1.ObjectFieldSelector, allowed sets.Set[string], path *field.Path) field.ErrorList {
	if ref.APIVersion == "" {
		return field.ErrorList{field.Required(path.Child("apiVersion"), "")}
	}
	if ref.FieldPath == "" {
		return field.ErrorList{field.Required(path.Child("fieldPath"), "")}
	}
	name, key, subscripted := splitSubscript(ref.FieldPath)
	if reason := cannotConvert(ref, name, subscripted); reason != "" {
		return field.ErrorList{field.Invalid(path.Child("fieldPath"), ref.FieldPath, "error converting fieldPath: "+reason)}
	}
	switch {
	case subscripted && name == "metadata.annotations":
		key = strings.ToLower(key)
		return invalid(path, key, validation.IsQualifiedName(key))
	case subscripted:
		return invalid(path, key, validation.IsQualifiedName(key))
	case ref.FieldPath == "spec.host":
		name = "spec.nodeName"
	}
	if !allowed.Has(name) {
		return field.ErrorList{field.NotSupported(path.Child("fieldPath"), name, sets.List(allowed))}
	}
	return nil
}

func cannotConvert(ref *corev1.ObjectFieldSelector, name string, subscripted bool) string {
	if ref.APIVersion != "v1" {
		return fmt.Sprintf("unsupported pod version: %s", ref.APIVersion)
	}
	if subscripted {
		if name == "metadata.annotations" || name == "metadata.labels" {
			return ""
		}
		return fmt.Sprintf("field label does not support subscript: %s", ref.FieldPath)
	}
	if downwardFieldPaths.Has(ref.FieldPath) || ref.FieldPath == "spec.host" {
		return ""
	}
	return fmt.Sprintf("field label not supported: %s", ref.FieldPath)
}

// splitSubscript splits a['b'] into a and b.
func splitSubscript(path string) (name, key string, ok bool) {
	inner, ok := strings.CutSuffix(path, "']")
	if !ok {
		return path, "", false
	}
	name, key, ok = strings.Cut(inner, "['")
	if !ok || name == "" {
		return path, "", false
	}
	return name, key, true
}

func validateResourceFieldRef(ref *corev1.ResourceFieldSelector, path *field.Path, inVolume bool) field.ErrorList {
	var errs field.ErrorList
	hugePages := strings.HasPrefix(ref.Resource, "limits."+corev1.ResourceHugePagesPrefix) ||
		strings.HasPrefix(ref.Resource, "requests."+corev1.ResourceHugePagesPrefix)
	switch {
	case inVolume && ref.ContainerName == "":
		errs = append(errs, field.Required(path.Child("containerName"), ""))
	case ref.Resource == "":
		errs = append(errs, field.Required(path.Child("resource"), ""))
	case !resourceFieldNames.Has(ref.Resource) && !hugePages:
		errs = append(errs, field.NotSupported(path.Child("resource"), ref.Resource, sets.List(resourceFieldNames)))
	}
	if ref.Divisor.IsZero() {
		return errs
	}
	const bytesOnly = "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the %s resource"
	divisor, message := ref.Divisor.String(), ""
	switch _, kind, _ := strings.Cut(ref.Resource, "."); {
	case hugePages:
		message = badUnless(byteDivisors.Has(divisor), fmt.Sprintf(bytesOnly, "hugepages"))
	case kind == "cpu":
		message = badUnless(divisor == "1m" || divisor == "1", "only divisor's values 1m and 1 are supported with the cpu resource")
	case kind == "memory":
		message = badUnless(byteDivisors.Has(divisor), fmt.Sprintf(bytesOnly, "memory"))
	case kind == "ephemeral-storage":
		message = badUnless(byteDivisors.Has(divisor), fmt.Sprintf(bytesOnly, "local ephemeral storage"))
	}
	if message != "" {
		errs = append(errs, field.Invalid(path.Child("divisor"), ref.Resource, message))
	}
	return errs
}

func badUnless(ok bool, message string) string {
	if ok {
		return ""
	}
	return message
}
