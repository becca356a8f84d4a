package resource

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/operation"
	apivalidate "k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

var deviceClassSpecPath = field.NewPath("spec")

// validateDeviceClass validates a class. old is nil for a new one.
func validateDeviceClass(c, old *resourcev1.DeviceClass) field.ErrorList {
	errs := validateMeta(c, old)
	stored := old != nil && apiequality.Semantic.DeepEqual(c.Spec.Selectors, old.Spec.Selectors)
	errs = append(errs, validateSelectors(c.Spec.Selectors, stored, deviceClassSpecPath.Child("selectors"))...)
	stored = old != nil && apiequality.Semantic.DeepEqual(c.Spec.Config, old.Spec.Config)
	errs = append(errs, validateConfig(c.Spec.Config, stored, deviceClassSpecPath.Child("config"))...)
	name := c.Spec.ExtendedResourceName
	extended := apivalidate.ExtendedResourceName(context.Background(), operation.Operation{},
		deviceClassSpecPath.Child("extendedResourceName"), name, nil)
	return append(errs, extended.MarkCoveredByDeclarative()...)
}

// anyName accepts every name: the declared rule checks it, and nothing checks generated ones.
func anyName(string, bool) []string { return nil }

// validateMeta checks the name by the rule that its type declares.
func validateMeta(c, old *resourcev1.DeviceClass) (errs field.ErrorList) {
	if c.Name != "" {
		named := apivalidate.LongName(context.Background(), operation.Operation{}, field.NewPath("metadata", "name"), &c.Name, nil)
		errs = append(errs, named.MarkCoveredByDeclarative()...)
	}
	errs = append(errs, builtin.ValidateObjectMeta(&c.ObjectMeta, false, anyName)...)
	if old != nil {
		errs = append(errs, builtin.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)...)
	}
	return errs
}

// validateConfig checks the rules that the type of a configuration does not declare.
func validateConfig(config []resourcev1.DeviceClassConfiguration, stored bool, path *field.Path) (errs field.ErrorList) {
	if len(config) > resourcev1.DeviceConfigMaxSize {
		return nil
	}
	for i := range config {
		errs = append(errs, validateConfiguration(&config[i].DeviceConfiguration, stored, path.Index(i))...)
	}
	return writtenErrors(errs)
}

// deviceClassStrategy adds the declared rules of the request's version.
type deviceClassStrategy struct {
	builtin.Strategy
}

func (s deviceClassStrategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	c := obj.(*resourcev1.DeviceClass)
	return append(s.Strategy.Validate(ctx, obj), applyRules(ctx, resourcev1.Validate_DeviceClassSpec, deviceClassSpecPath, &c.Spec, nil)...)
}

func (s deviceClassStrategy) ValidateUpdate(ctx context.Context, obj, oldObj runtime.Object) field.ErrorList {
	c, old := obj.(*resourcev1.DeviceClass), oldObj.(*resourcev1.DeviceClass)
	errs := s.Strategy.ValidateUpdate(ctx, c, old)
	return append(errs, applyRules(ctx, resourcev1.Validate_DeviceClassSpec, deviceClassSpecPath, &c.Spec, &old.Spec)...)
}
