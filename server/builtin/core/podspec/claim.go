package podspec

import (
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// SetClaimDefaults fills in a claim's spec.
func SetClaimDefaults(spec *corev1.PersistentVolumeClaimSpec) {
	if spec.VolumeMode == nil {
		spec.VolumeMode = ptr.To(corev1.PersistentVolumeFilesystem)
	}
	RoundUpResources(spec.Resources.Limits, spec.Resources.Requests)
}

// ClaimMistakes holds mistakes that older servers accepted. Updates of a stored claim may keep them.
type ClaimMistakes struct {
	SelectorValues bool
	SourceGroup    bool
}

// ClaimMistakesIn finds the mistakes that updates of a stored claim may keep. Any group of a stored data source counts,
// valid or not.
func ClaimMistakesIn(spec *corev1.PersistentVolumeClaimSpec) ClaimMistakes {
	return ClaimMistakes{
		SelectorValues: len(metav1validation.ValidateLabelSelector(spec.Selector,
			metav1validation.LabelSelectorValidationOptions{}, nil)) > 0,
		SourceGroup: spec.DataSource != nil && spec.DataSource.APIGroup != nil ||
			spec.DataSourceRef != nil && spec.DataSourceRef.APIGroup != nil,
	}
}

// ValidateClaim validates a claim's spec.
func ValidateClaim(spec *corev1.PersistentVolumeClaimSpec, path *field.Path, tolerated ClaimMistakes) field.ErrorList {
	var errs field.ErrorList
	if len(spec.AccessModes) == 0 {
		errs = append(errs, field.Required(path.Child("accessModes"), "at least 1 access mode is required"))
	}
	errs = append(errs, metav1validation.ValidateLabelSelector(spec.Selector,
		metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: tolerated.SelectorValues},
		path.Child("selector"))...)
	errs = append(errs, validateAccessModes(spec.AccessModes, path.Child("accessModes"))...)
	size := path.Child("resources").Key(string(corev1.ResourceStorage))
	if storage, ok := spec.Resources.Requests[corev1.ResourceStorage]; !ok {
		errs = append(errs, field.Required(size, ""))
	} else {
		errs = append(errs, validatePositive(storage, size)...)
	}
	errs = append(errs, validateName(ptr.Deref(spec.StorageClassName, ""), path.Child("storageClassName"))...)
	errs = append(errs, validateVolumeMode(spec.VolumeMode, path.Child("volumeMode"))...)
	errs = append(errs, validateDataSources(spec, path, tolerated.SourceGroup)...)
	return append(errs, validateName(ptr.Deref(spec.VolumeAttributesClassName, ""), path.Child("volumeAttributesClassName"))...)
}

// validateAccessModes requires known modes that can be combined.
func validateAccessModes(modes []corev1.PersistentVolumeAccessMode, path *field.Path) field.ErrorList {
	known := []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod}
	var errs field.ErrorList
	alone, others := false, false
	for _, mode := range modes {
		switch {
		case !slices.Contains(known, mode):
			errs = append(errs, field.NotSupported(path, mode, known))
		case mode == corev1.ReadWriteOncePod:
			alone = true
		default:
			others = true
		}
	}
	if alone && others {
		errs = append(errs, field.Forbidden(path, "may not use ReadWriteOncePod with other access modes"))
	}
	return errs
}

// validateVolumeMode requires a known mode, or none.
func validateVolumeMode(mode *corev1.PersistentVolumeMode, path *field.Path) field.ErrorList {
	known := []corev1.PersistentVolumeMode{corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem}
	if mode == nil || slices.Contains(known, *mode) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, *mode, known)}
}

// validatePositive requires a size above 0.
func validatePositive(size resource.Quantity, path *field.Path) field.ErrorList {
	if size.Sign() > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, size.String(), "must be greater than zero")}
}

// validateName checks the name of a class, if there is one.
func validateName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return nil
	}
	var errs field.ErrorList
	for _, message := range apivalidation.NameIsDNSSubdomain(name, false) {
		errs = append(errs, field.Invalid(path, name, message))
	}
	return errs
}

// validateDataSources checks the source of a volume's data in the older field and in the newer one, and that both are
// equal.
func validateDataSources(spec *corev1.PersistentVolumeClaimSpec, path *field.Path, anyGroup bool) field.ErrorList {
	var errs field.ErrorList
	source, ref := spec.DataSource, spec.DataSourceRef
	if source != nil {
		errs = append(errs, validateDataSource(source.APIGroup, source.Kind, source.Name, path.Child("dataSource"), anyGroup)...)
	}
	if ref == nil {
		return errs
	}
	errs = append(errs, validateDataSource(ref.APIGroup, ref.Kind, ref.Name, path.Child("dataSourceRef"), anyGroup)...)
	namespace := ptr.Deref(ref.Namespace, "")
	if namespace != "" {
		for _, message := range apivalidation.ValidateNamespaceName(namespace, false) {
			errs = append(errs, field.Invalid(path.Child("dataSourceRef", "namespace"), namespace, message))
		}
	}
	switch {
	case source == nil:
	case namespace != "":
		errs = append(errs, field.Invalid(path, path.Child("dataSource"), "may not be specified when dataSourceRef.namespace is specified"))
	case !reflect.DeepEqual(source.APIGroup, ref.APIGroup) || source.Kind != ref.Kind || source.Name != ref.Name:
		errs = append(errs, field.Invalid(path, path.Child("dataSource"), "must match dataSourceRef"))
	}
	return errs
}

func validateDataSource(group *string, kind, name string, path *field.Path, anyGroup bool) field.ErrorList {
	var errs field.ErrorList
	if name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	if kind == "" {
		errs = append(errs, field.Required(path.Child("kind"), ""))
	}
	switch g := ptr.Deref(group, ""); {
	case g == "" && kind != "PersistentVolumeClaim":
		errs = append(errs, field.Invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"))
	case g != "" && !anyGroup:
		for _, message := range validation.IsDNS1123Subdomain(g) {
			errs = append(errs, field.Invalid(path.Child("apiGroup"), g, message))
		}
	}
	return errs
}

// ClaimWarnings reports sizes that no volume can have.
func ClaimWarnings(spec *corev1.PersistentVolumeClaimSpec, path *field.Path) []string {
	var messages []string
	for _, list := range []struct {
		name string
		list corev1.ResourceList
	}{{"requests", spec.Resources.Requests}, {"limits", spec.Resources.Limits}} {
		if size := list.list[corev1.ResourceStorage]; size.MilliValue()%1000 != 0 {
			messages = append(messages, fmt.Sprintf("%s: fractional byte value %q is invalid, must be an integer",
				path.Child("resources", list.name).Key(string(corev1.ResourceStorage)), size.String()))
		}
	}
	return messages
}

// ModeCell formats access modes as kubectl does: "RWO,ROX".
func ModeCell(modes []corev1.PersistentVolumeAccessMode) string {
	text := ""
	for _, short := range []struct {
		mode corev1.PersistentVolumeAccessMode
		name string
	}{{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"}} {
		if slices.Contains(modes, short.mode) {
			if text != "" {
				text += ","
			}
			text += short.name
		}
	}
	return text
}

// ClassCell returns the storage class: from the old annotation if it is set, else from the field that replaced it.
func ClassCell(annotations map[string]string, class *string) string {
	if old, ok := annotations[corev1.BetaStorageClassAnnotation]; ok {
		return old
	}
	return ptr.Deref(class, "")
}

// OptionalCell returns the cell of an optional field of a volume or a claim.
func OptionalCell[T ~string](value *T) string {
	if value == nil {
		return "<unset>"
	}
	return string(*value)
}
