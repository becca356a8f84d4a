package storage

import (
	"reflect"

	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// VolumeAttributesClass declares volumeattributesclasses.storage.k8s.io: named sets of volume properties that can
// change while a volume is in use.
var VolumeAttributesClass = builtin.Resource[*storagev1.VolumeAttributesClass]{
	Names:               builtin.Names{Plural: "volumeattributesclasses", Singular: "volumeattributesclass", Short: []string{"vac"}},
	List:                &storagev1.VolumeAttributesClassList{},
	Stored:              storagev1.SchemeGroupVersion,
	Alike:               []schema.GroupVersion{storagev1beta1.SchemeGroupVersion},
	ClusterScoped:       true,
	Validate:            validateVolumeAttributesClass,
	ValidateUpdate:      validateVolumeAttributesClassUpdate,
	ReturnDeletedObject: true,
	Sample:              "driverName: csi.example.com\nparameters: {iops: \"3000\"}",
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "DriverName", Type: "string", Description: storagev1.VolumeAttributesClass{}.SwaggerDoc()["driverName"]},
		builtin.AgeColumn,
	},
	Row: func(c *storagev1.VolumeAttributesClass) metav1.TableRow {
		return builtin.Row(c.Name, c.DriverName, builtin.Age(c.CreationTimestamp))
	},
}

var (
	driverPath                          = field.NewPath("driverName")
	volumeAttributesClassParametersPath = field.NewPath("parameters")
)

func validateVolumeAttributesClass(c *storagev1.VolumeAttributesClass) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&c.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	if c.DriverName == "" {
		errs = append(errs, field.Required(driverPath, ""))
	}
	errs = append(errs, validateProvisioner(c.DriverName, driverPath)...)
	return append(errs, validateParameters(c.Parameters, false, volumeAttributesClassParametersPath)...)
}

// validateVolumeAttributesClassUpdate refuses changes outside the metadata.
func validateVolumeAttributesClassUpdate(c, old *storagev1.VolumeAttributesClass) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	if c.DriverName != old.DriverName {
		errs = append(errs, field.Forbidden(driverPath, "updates to driverName are forbidden."))
	}
	if !reflect.DeepEqual(c.Parameters, old.Parameters) {
		errs = append(errs, field.Forbidden(volumeAttributesClassParametersPath, "updates to parameters are forbidden."))
	}
	return append(errs, validateVolumeAttributesClass(c)...)
}
