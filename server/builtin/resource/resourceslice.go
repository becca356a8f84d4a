package resource

import (
	"context"
	"fmt"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

var (
	resourceSliceSpecPath = field.NewPath("spec")
	docs                  = resourcev1.ResourceSliceSpec{}.SwaggerDoc()
)

// ResourceSlice declares resourceslices.resource.k8s.io, in which drivers list the available devices.
var ResourceSlice = builtin.Resource[*resourcev1.ResourceSlice]{
	Names:  builtin.Names{Plural: "resourceslices", Singular: "resourceslice"},
	List:   &resourcev1.ResourceSliceList{},
	Stored: resourcev1.SchemeGroupVersion,
	Served: []schema.GroupVersion{resourcev1.SchemeGroupVersion, resourcev1beta2.SchemeGroupVersion,
		resourcev1beta1.SchemeGroupVersion},
	Alike:         []schema.GroupVersion{resourcev1beta2.SchemeGroupVersion},
	ClusterScoped: true,
	Default: func(s *resourcev1.ResourceSlice) {
		for _, device := range s.Spec.Devices {
			setDefaultsTaints(device.Taints)
		}
	},
	Fields: []builtin.Field[*resourcev1.ResourceSlice]{
		{Label: resourcev1.ResourceSliceSelectorNodeName,
			Value: func(s *resourcev1.ResourceSlice) string { return ptr.Deref(s.Spec.NodeName, "") }},
		{Label: resourcev1.ResourceSliceSelectorDriver, Value: func(s *resourcev1.ResourceSlice) string { return s.Spec.Driver }},
		{Label: resourcev1.ResourceSliceSelectorPoolName, Value: func(s *resourcev1.ResourceSlice) string { return s.Spec.Pool.Name }},
	},
	FieldError: func(kind schema.GroupVersionKind, label string) error {
		return fmt.Errorf("field label not supported for %v: %s", kind, label)
	},
	PrepareCreate:  func(_ context.Context, s *resourcev1.ResourceSlice) { dropDisabledSlice(&s.Spec, nil) },
	Spec:           func(s *resourcev1.ResourceSlice) any { return &s.Spec },
	Validate:       validateResourceSlice,
	ValidateUpdate: validateResourceSliceUpdate,
	Warnings:       warnings,
	Special: builtin.Specialize(func(s builtin.Strategy) rest.RESTCreateUpdateStrategy {
		return resourceSliceStrategy{s}
	}),
	ReturnDeletedObject: true,
	Sample: `
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}]`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Node", Type: "string", Description: docs["nodeName"]},
		{Name: "Driver", Type: "string", Description: docs["driver"]},
		{Name: "Pool", Type: "string", Description: resourcev1.ResourcePool{}.SwaggerDoc()["name"]},
		builtin.AgeColumn,
	},
	Row: func(s *resourcev1.ResourceSlice) metav1.TableRow {
		return builtin.Row(s.Name, ptr.Deref(s.Spec.NodeName, ""), s.Spec.Driver, s.Spec.Pool.Name, builtin.Age(s.CreationTimestamp))
	},
}

// resourceSliceStrategy adds the declared rules of the request's version.
type resourceSliceStrategy struct {
	builtin.Strategy
}

// PrepareForUpdate increments the generation even if only dropped fields have changed.
func (s resourceSliceStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	s.Strategy.PrepareForUpdate(ctx, obj, old)
	dropDisabledSlice(&obj.(*resourcev1.ResourceSlice).Spec, &old.(*resourcev1.ResourceSlice).Spec)
}

func (s resourceSliceStrategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	spec := &obj.(*resourcev1.ResourceSlice).Spec
	return append(s.Strategy.Validate(ctx, obj),
		applyRules(ctx, resourcev1.Validate_ResourceSliceSpec, resourceSliceSpecPath, spec, nil)...)
}

func (s resourceSliceStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	spec, stored := &obj.(*resourcev1.ResourceSlice).Spec, &old.(*resourcev1.ResourceSlice).Spec
	errs := s.Strategy.ValidateUpdate(ctx, obj, old)
	return append(errs, applyRules(ctx, resourcev1.Validate_ResourceSliceSpec, resourceSliceSpecPath, spec, stored)...)
}

func validateResourceSlice(s *resourcev1.ResourceSlice) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&s.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	return append(errs, validateSlice(&s.Spec, nil, resourceSliceSpecPath)...)
}

func validateResourceSliceUpdate(s, old *resourcev1.ResourceSlice) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&s.ObjectMeta, &old.ObjectMeta)
	return append(errs, validateSlice(&s.Spec, &old.Spec, resourceSliceSpecPath)...)
}

func warnings(s, _ *resourcev1.ResourceSlice) []string {
	driver := s.Spec.Driver
	if driver == strings.ToLower(driver) {
		return nil
	}
	return []string{fmt.Sprintf("spec.driver: driver names should be lowercase; %q contains uppercase characters", driver)}
}
