package deviceclass

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/operation"
	apivalidate "k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/resource"
)

var specPath = field.NewPath("spec")

// validate takes nil for old.
func validate(c, old *resourcev1.DeviceClass) field.ErrorList {
	errs := validateMeta(c, old)
	stored := old != nil && apiequality.Semantic.DeepEqual(c.Spec.Selectors, old.Spec.Selectors)
	errs = append(errs, resource.ValidateSelectors(c.Spec.Selectors, stored, specPath.Child("selectors"))...)
	stored = old != nil && apiequality.Semantic.DeepEqual(c.Spec.Config, old.Spec.Config)
	errs = append(errs, validateConfig(c.Spec.Config, stored, specPath.Child("config"))...)
	name := c.Spec.ExtendedResourceName
	extended := apivalidate.ExtendedResourceName(context.Background(), operation.Operation{}, specPath.Child("extendedResourceName"), name, nil)
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

// validateConfig leaves out the rules that the type of a configuration declares.
func validateConfig(config []resourcev1.DeviceClassConfiguration, stored bool, path *field.Path) (errs field.ErrorList) {
	if len(config) > resourcev1.DeviceConfigMaxSize {
		return nil
	}
	for i := range config {
		errs = append(errs, resource.ValidateConfiguration(&config[i].DeviceConfiguration, stored, path.Index(i))...)
	}
	return resource.Written(errs)
}

// strategy knows the version of the request, whose declared rules apply.
type strategy struct {
	builtin.Strategy
}

func (s strategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	return append(s.Strategy.Validate(ctx, obj), declared(ctx, obj)...)
}

func (s strategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return append(s.Strategy.ValidateUpdate(ctx, obj, old), declared(ctx, obj)...)
}

func declared(ctx context.Context, obj runtime.Object) field.ErrorList {
	return resource.DeclaredIn(ctx).ClassConfig(obj.(*resourcev1.DeviceClass).Spec.Config, specPath.Child("config"))
}
