package storage

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

var (
	provisionerPath            = field.NewPath("provisioner")
	storageClassParametersPath = field.NewPath("parameters")
	reclaimPath                = field.NewPath("reclaimPolicy")
	bindingPath                = field.NewPath("volumeBindingMode")
	topologiesPath             = field.NewPath("allowedTopologies")
)

func validateStorageClass(c *storagev1.StorageClass) field.ErrorList {
	return append(validateFields(c), missing(c)...)
}

// validateFields does not report a missing provisioner: the caller does so last, as Kubernetes does.
func validateFields(c *storagev1.StorageClass) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&c.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, validateProvisioner(c.Provisioner, provisionerPath)...)
	errs = append(errs, validateParameters(c.Parameters, true, storageClassParametersPath)...)
	policies := sets.New(corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain)
	if p := c.ReclaimPolicy; p != nil && *p != "" && !policies.Has(*p) {
		errs = append(errs, field.NotSupported(reclaimPath, *p, sets.List(policies)))
	}
	modes := sets.New(storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer)
	if m := c.VolumeBindingMode; m == nil {
		errs = append(errs, field.Required(bindingPath, ""))
	} else if !modes.Has(*m) {
		errs = append(errs, field.NotSupported(bindingPath, *m, sets.List(modes)))
	}
	return append(errs, validateTopologies(c.AllowedTopologies)...)
}

func missing(c *storagev1.StorageClass) field.ErrorList {
	if c.Provisioner != "" {
		return nil
	}
	return field.ErrorList{field.Required(provisionerPath, "")}
}

// validateStorageClassUpdate refuses changes of the fields from which volumes were made. As in Kubernetes, the errors
// do not quote the old values.
func validateStorageClassUpdate(c, old *storagev1.StorageClass) field.ErrorList {
	errs := append(validateFields(c), builtin.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)...)
	if c.Provisioner != old.Provisioner {
		errs = append(errs, missing(c)...)
	}
	for _, f := range []struct {
		path     *field.Path
		now, was any
	}{
		{provisionerPath, c.Provisioner, old.Provisioner},
		{storageClassParametersPath, c.Parameters, old.Parameters},
		{reclaimPath, c.ReclaimPolicy, old.ReclaimPolicy},
		{bindingPath, c.VolumeBindingMode, old.VolumeBindingMode},
	} {
		if !apiequality.Semantic.DeepEqual(f.now, f.was) {
			errs = append(errs, field.Invalid(f.path, nil, apivalidation.FieldImmutableErrorMsg))
		}
	}
	return errs
}

// validateTopologies refuses duplicate terms. An empty term counts as a duplicate.
func validateTopologies(terms []corev1.TopologySelectorTerm) (errs field.ErrorList) {
	said := []map[string]sets.Set[string]{nil}
	for i, term := range terms {
		path := topologiesPath.Index(i).Child("matchLabelExpressions")
		labels := map[string]sets.Set[string]{}
		for j, e := range term.MatchLabelExpressions {
			at := path.Index(j)
			errs = append(errs, validateValues(e, at)...)
			if _, ok := labels[e.Key]; ok {
				errs = append(errs, field.Duplicate(at.Child("key"), e.Key))
			}
			labels[e.Key] = sets.New(e.Values...)
		}
		for _, other := range said {
			if apiequality.Semantic.DeepEqual(labels, other) {
				errs = append(errs, field.Duplicate(path, ""))
			}
		}
		said = append(said, labels)
	}
	return errs
}

func validateValues(e corev1.TopologySelectorLabelRequirement, path *field.Path) (errs field.ErrorList) {
	values := path.Child("values")
	if len(e.Values) == 0 {
		errs = append(errs, field.Required(values, ""))
	}
	seen := sets.New[string]()
	for i, value := range e.Values {
		if seen.Has(value) {
			errs = append(errs, field.Duplicate(values.Index(i), value))
		}
		seen.Insert(value)
	}
	return append(errs, metav1validation.ValidateLabelName(e.Key, path.Child("key"))...)
}
