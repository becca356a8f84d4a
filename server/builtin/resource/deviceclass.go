package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

// DeviceClass declares deviceclasses.resource.k8s.io.
var DeviceClass = builtin.Resource[*resourcev1.DeviceClass]{
	Names:  builtin.Names{Plural: "deviceclasses", Singular: "deviceclass"},
	List:   &resourcev1.DeviceClassList{},
	Stored: resourcev1.SchemeGroupVersion,
	Served: []schema.GroupVersion{resourcev1.SchemeGroupVersion, resourcev1beta2.SchemeGroupVersion,
		resourcev1beta1.SchemeGroupVersion},
	Alike:               []schema.GroupVersion{resourcev1beta2.SchemeGroupVersion, resourcev1beta1.SchemeGroupVersion},
	ClusterScoped:       true,
	Validate:            func(c *resourcev1.DeviceClass) field.ErrorList { return validateDeviceClass(c, nil) },
	ValidateUpdate:      validateDeviceClass,
	Spec:                func(c *resourcev1.DeviceClass) any { return &c.Spec },
	Special:             builtin.Specialize(func(s builtin.Strategy) rest.RESTCreateUpdateStrategy { return deviceClassStrategy{s} }),
	ReturnDeletedObject: true,
	Sample:              `spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}`,
	Columns:             []builtin.Column{builtin.NameColumn, builtin.AgeColumn},
	Row: func(c *resourcev1.DeviceClass) metav1.TableRow {
		return builtin.Row(c.Name, builtin.Age(c.CreationTimestamp))
	},
}
