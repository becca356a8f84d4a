//lint:file-ignore SA1019 Stored nodes may have fields that are deprecated.

package core

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
)

// No component reads these annotations and fields any more. They are validated all the same.

const taintsAnnotation = "scheduler.alpha.kubernetes.io/taints"

func validateAnnotations(annotations map[string]string) field.ErrorList {
	var errs field.ErrorList
	path := metadataPath.Child("annotations")
	if text := annotations[taintsAnnotation]; text != "" {
		var taints []corev1.Taint
		if err := json.Unmarshal([]byte(text), &taints); err != nil {
			errs = append(errs, field.Invalid(path, taintsAnnotation, strings.ReplaceAll(err.Error(), "v1.Taint", "core.Taint")))
		} else {
			errs = append(errs, validateTaints(taints, path.Child(taintsAnnotation))...)
		}
	}
	if text := annotations[corev1.PreferAvoidPodsAnnotationKey]; text != "" {
		errs = append(errs, validateAvoidPods(text, path)...)
	}
	return errs
}

func validateAvoidPods(text string, path *field.Path) field.ErrorList {
	var avoid corev1.AvoidPods
	if err := json.Unmarshal([]byte(text), &avoid); err != nil {
		return field.ErrorList{field.Invalid(path.Child("AvoidPods"), corev1.PreferAvoidPodsAnnotationKey, err.Error())}
	}
	var errs field.ErrorList
	for i, entry := range avoid.PreferAvoidPods {
		at := path.Child(corev1.PreferAvoidPodsAnnotationKey).Index(i).Child("PodSignature")
		switch owner := entry.PodSignature.PodController; {
		case owner == nil:
			errs = append(errs, field.Required(at, ""))
		case !ptr.Deref(owner.Controller, false):
			errs = append(errs, field.Invalid(at.Child("PodController", "Controller"), false, "must point to a controller"))
		}
	}
	return errs
}

// validateConfig checks the source of a kubelet's dynamic configuration, in nodes that were stored when that feature
// existed.
func validateConfig(n *corev1.Node) field.ErrorList {
	var errs field.ErrorList
	if source := n.Spec.ConfigSource; source != nil {
		errs = append(errs, validateConfigSource(source, false, nodeSpecPath.Child("configSource"))...)
	}
	if config := n.Status.Config; config != nil {
		path := nodeStatusPath.Child("config")
		for _, s := range []struct {
			name   string
			source *corev1.NodeConfigSource
		}{{"assigned", config.Assigned}, {"active", config.Active}, {"lastKnownGood", config.LastKnownGood}} {
			if s.source != nil {
				errs = append(errs, validateConfigSource(s.source, true, path.Child(s.name))...)
			}
		}
	}
	return errs
}

// validateConfigSource requires a reference to a ConfigMap. A reference in the status must have UID and
// resourceVersion.
func validateConfigSource(source *corev1.NodeConfigSource, known bool, path *field.Path) field.ErrorList {
	m := source.ConfigMap
	if m == nil {
		return field.ErrorList{field.Invalid(path, builtin.Quote(source), "exactly one reference subfield must be non-nil")}
	}
	path = path.Child("configMap")
	var errs field.ErrorList
	for _, f := range []struct{ name, value string }{{"uid", string(m.UID)}, {"resourceVersion", m.ResourceVersion}} {
		switch {
		case known && f.value == "":
			errs = append(errs, field.Required(path.Child(f.name), ""))
		case !known && f.value != "":
			errs = append(errs, field.Forbidden(path.Child(f.name), f.name+" must not be set in spec"))
		}
	}
	for _, f := range []struct {
		name, value string
		check       func(string) []string
	}{
		{"namespace", m.Namespace, func(s string) []string { return apivalidation.ValidateNamespaceName(s, false) }},
		{"name", m.Name, func(s string) []string { return apivalidation.NameIsDNSSubdomain(s, false) }},
		{"kubeletConfigKey", m.KubeletConfigKey, validation.IsConfigMapKey},
	} {
		if f.value == "" {
			errs = append(errs, field.Required(path.Child(f.name), ""))
			continue
		}
		for _, message := range f.check(f.value) {
			errs = append(errs, field.Invalid(path.Child(f.name), f.value, message))
		}
	}
	return errs
}
