package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// CSIStorageCapacity declares csistoragecapacities.storage.k8s.io: the space that a driver has for new volumes in a
// part of the cluster.
var CSIStorageCapacity = builtin.Resource[*storagev1.CSIStorageCapacity]{
	Names:          builtin.Names{Plural: "csistoragecapacities", Singular: "csistoragecapacity"},
	List:           &storagev1.CSIStorageCapacityList{},
	Stored:         storagev1.SchemeGroupVersion,
	Validate:       func(c *storagev1.CSIStorageCapacity) field.ErrorList { return validateCSIStorageCapacity(c, nil) },
	ValidateUpdate: validateCSIStorageCapacityUpdate,
	Warnings: func(c, _ *storagev1.CSIStorageCapacity) []string {
		return podspec.NodeLabelWarnings(c.NodeTopology, topologyPath)
	},
	ConditionalUpdate: true,
	Sample:            "storageClassName: fast\ncapacity: 10Gi\nnodeTopology: {}",
}

var (
	topologyPath = field.NewPath("nodeTopology")
	classPath    = field.NewPath("storageClassName")
)

// validateCSIStorageCapacity lets a stored capacity keep label values that are no longer valid.
func validateCSIStorageCapacity(c, old *storagev1.CSIStorageCapacity) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&c.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	var opts metav1validation.LabelSelectorValidationOptions
	opts.AllowInvalidLabelValueInSelector = old != nil && len(metav1validation.ValidateLabelSelector(old.NodeTopology, opts, nil)) > 0
	errs = append(errs, metav1validation.ValidateLabelSelector(c.NodeTopology, opts, topologyPath)...)
	for _, msg := range apivalidation.NameIsDNSSubdomain(c.StorageClassName, false) {
		errs = append(errs, field.Invalid(classPath, c.StorageClassName, msg))
	}
	if q := c.Capacity; q != nil && q.Cmp(resource.Quantity{}) < 0 {
		errs = append(errs, field.Invalid(field.NewPath("capacity"), q.String(), apivalidation.IsNegativeErrorMsg))
	}
	return errs
}

func validateCSIStorageCapacityUpdate(c, old *storagev1.CSIStorageCapacity) field.ErrorList {
	errs := append(validateCSIStorageCapacity(c, old), builtin.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)...)
	if !apiequality.Semantic.DeepEqual(c.NodeTopology, old.NodeTopology) {
		errs = append(errs, field.Invalid(topologyPath, c.NodeTopology, apivalidation.FieldImmutableErrorMsg))
	}
	if c.StorageClassName != old.StorageClassName {
		errs = append(errs, field.Invalid(classPath, c.StorageClassName, apivalidation.FieldImmutableErrorMsg))
	}
	return errs
}
