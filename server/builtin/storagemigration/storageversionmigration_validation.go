package storagemigration

import (
	"strings"

	migrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

func validateMigration(m *migrationv1beta1.StorageVersionMigration) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&m.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	group, resource := m.Spec.Resource.Group, m.Spec.Resource.Resource
	path := field.NewPath("spec", "resource")
	if resource == "" {
		errs = append(errs, field.Required(path.Child("resource"), "resource is required to be set"))
	} else if wrong := validation.IsDNS1035Label(resource); len(wrong) > 0 {
		errs = append(errs, field.Invalid(path.Child("resource"), resource, strings.Join(wrong, ",")))
	}
	if group == "" {
		return errs
	}
	if wrong := validation.IsDNS1123Subdomain(group); len(wrong) > 0 {
		errs = append(errs, field.Invalid(path.Child("group"), group, strings.Join(wrong, ",")))
	}
	return errs
}

func validateUpdate(m, old *migrationv1beta1.StorageVersionMigration) field.ErrorList {
	errs := append(validateMigration(m), builtin.ValidateObjectMetaUpdate(&m.ObjectMeta, &old.ObjectMeta)...)
	return append(errs, builtin.ValidateImmutable(m.Spec, old.Spec, field.NewPath("spec"))...)
}

// validateStatus lets a migration succeed or fail only once, and refuses changes of the revision at which it began.
func validateStatus(m, old *migrationv1beta1.StorageVersionMigration) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&m.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("status")
	version, before := m.Status.ResourceVersion, old.Status.ResourceVersion
	if version != "" {
		if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
			errs = append(errs, field.Invalid(path.Child("resourceVersion"), version, err.Error()))
		}
	}
	conditions := path.Child("conditions")
	errs = append(errs, metav1validation.ValidateConditions(m.Status.Conditions, conditions)...)
	if before != "" && before != version {
		errs = append(errs, field.Invalid(path.Child("resourceVersion"), version, apivalidation.FieldImmutableErrorMsg))
	}
	succeeded, failed := is(m, migrationv1beta1.MigrationSucceeded), is(m, migrationv1beta1.MigrationFailed)
	wrong := func(detail string) { errs = append(errs, field.Invalid(conditions, m.Status.Conditions, detail)) }
	if succeeded && failed {
		wrong("Both success and failed conditions cannot be true at the same time")
	}
	if is(old, migrationv1beta1.MigrationSucceeded) && !succeeded {
		wrong("Success condition cannot be set to false once it is true")
	}
	if is(old, migrationv1beta1.MigrationFailed) && !failed {
		wrong("Failed condition cannot be set to false once it is true")
	}
	return errs
}

func is(m *migrationv1beta1.StorageVersionMigration, condition migrationv1beta1.MigrationConditionType) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, string(condition))
}
