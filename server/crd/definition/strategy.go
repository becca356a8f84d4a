package definition

import (
	"context"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/rest"
)

type crd = apiextensions.CustomResourceDefinition

type strategy struct {
	runtime.ObjectTyper
	rest.NameGenerator
}

// Strategy controls how definitions are created and updated.
var Strategy = strategy{Scheme, rest.SimpleNameGenerator}

func (strategy) NamespaceScoped() bool       { return false }
func (strategy) AllowCreateOnUpdate() bool   { return false }
func (strategy) Canonicalize(runtime.Object) {}

// AllowUnconditionalUpdate is false: a client that replaces a schema unseen would lose what others added to it.
func (strategy) AllowUnconditionalUpdate() bool { return false }

func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetFields("status")
}

// PrepareForCreate empties the status, whose conditions belong to controllers.
func (strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	d := obj.(*crd)
	d.Status = apiextensions.CustomResourceDefinitionStatus{}
	d.Generation = 1
	trackStoredVersion(d)
}

func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	d, was := obj.(*crd), old.(*crd)
	d.Status = was.Status
	if !apiequality.Semantic.DeepEqual(d.Spec, was.Spec) {
		d.Generation = was.Generation + 1
	}
	trackStoredVersion(d)
}

// trackStoredVersion adds the storage version to the list of stored versions. Only a client that has rewritten
// all objects may remove a version from the list, through the status.
func trackStoredVersion(d *crd) {
	i := slices.IndexFunc(d.Spec.Versions, func(v apiextensions.CustomResourceDefinitionVersion) bool { return v.Storage })
	if i < 0 || apiextensions.IsStoredVersion(d, d.Spec.Versions[i].Name) {
		return
	}
	// The old object may share the list.
	d.Status.StoredVersions = append(slices.Clip(d.Status.StoredVersions), d.Spec.Versions[i].Name)
}

// Validate checks the size first, since all other checks take time in proportion to it.
func (strategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	if errs := tooLarge(&obj.(*crd).Spec, nil); len(errs) > 0 {
		return errs
	}
	return validation.ValidateCustomResourceDefinition(ctx, obj.(*crd))
}

func (strategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	if errs := tooLarge(&obj.(*crd).Spec, &old.(*crd).Spec); len(errs) > 0 {
		return errs
	}
	return validation.ValidateCustomResourceDefinitionUpdate(ctx, obj.(*crd), old.(*crd))
}

func (strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return warnings(&obj.(*crd).Spec, nil)
}

func (strategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	return warnings(&obj.(*crd).Spec, &old.(*crd).Spec)
}

type statusStrategy struct{ strategy }

// StatusStrategy controls updates of the status. Metadata may change with it: in this way a controller removes
// the finalizer of an emptied definition.
var StatusStrategy = statusStrategy{Strategy}

func (statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetFields("spec")
}

func (statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	obj.(*crd).Spec = old.(*crd).Spec
}

func (statusStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateUpdateCustomResourceDefinitionStatus(ctx, obj.(*crd), old.(*crd))
}

func (statusStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// resetFields returns a set with one field for every version of the group.
func resetFields(name string) map[fieldpath.APIVersion]*fieldpath.Set {
	fields := map[fieldpath.APIVersion]*fieldpath.Set{}
	for _, gv := range Scheme.PrioritizedVersionsForGroup(apiextensions.GroupName) {
		fields[fieldpath.APIVersion(gv.String())] = fieldpath.NewSet(fieldpath.MakePathOrDie(name))
	}
	return fields
}
