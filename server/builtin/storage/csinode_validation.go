package storage

import (
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

const maxNodeID = 256

func validateCSINode(n *storagev1.CSINode) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&n.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	names := sets.New[string]()
	for i := range n.Spec.Drivers {
		d, path := &n.Spec.Drivers[i], driversPath.Index(i)
		errs = append(errs, validateDriver(d, path)...)
		if names.Has(d.Name) {
			errs = append(errs, field.Duplicate(path.Child("name"), d.Name))
		}
		names.Insert(d.Name)
		errs = append(errs, validateTopologyKeys(d.TopologyKeys, path)...)
	}
	return errs
}

func validateDriver(d *storagev1.CSINodeDriver, path *field.Path) field.ErrorList {
	errs := podspec.ValidateDriverName(d.Name, path.Child("name"))
	if d.NodeID == "" {
		errs = append(errs, field.Required(path.Child("nodeID"), ""))
	}
	if len(d.NodeID) > maxNodeID {
		errs = append(errs, field.Invalid(path.Child("nodeID"), d.NodeID, fmt.Sprintf("must be %d characters or less", maxNodeID)))
	}
	if a := d.Allocatable; a != nil && a.Count != nil {
		errs = append(errs, apivalidation.ValidateNonnegativeField(int64(*a.Count), path.Child("allocatable", "count"))...)
	}
	return errs
}

// validateTopologyKeys reports errors with the path of the driver: Kubernetes does not name the field.
func validateTopologyKeys(keys []string, path *field.Path) (errs field.ErrorList) {
	seen := sets.New[string]()
	for _, key := range keys {
		if key == "" {
			errs = append(errs, field.Required(path, ""))
		}
		if seen.Has(key) {
			errs = append(errs, field.Duplicate(path, key))
		}
		seen.Insert(key)
		for _, msg := range validation.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(path, key, msg))
		}
	}
	return errs
}

// validateCSINodeUpdate allows only the number of volumes to change in a driver that stays. It does not compare the
// metadata with the old metadata.
func validateCSINodeUpdate(n, old *storagev1.CSINode) field.ErrorList {
	errs := validateCSINode(n)
	for _, was := range old.Spec.Drivers {
		for _, now := range n.Spec.Drivers {
			if was.Name != now.Name {
				continue
			}
			was.Allocatable, now.Allocatable = nil, nil
			errs = append(errs, builtin.ValidateImmutable(now, was, driversPath)...)
		}
	}
	return errs
}
