package deployment

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/replicaset"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

type strategy struct{ builtin.Strategy }

// Strategy is how deployments are created, updated and deleted.
var Strategy = strategy{builtin.NewStrategy(true)}

var _ rest.GarbageCollectionDeleteStrategy = Strategy

// DefaultGarbageCollectionPolicy orphans the replica sets for clients of versions from when nothing else was known.
func (strategy) DefaultGarbageCollectionPolicy(ctx context.Context) rest.GarbageCollectionPolicy {
	switch version, _ := requestVersion(ctx); version {
	case appsv1beta1.SchemeGroupVersion, appsv1beta2.SchemeGroupVersion:
		return rest.OrphanDependents
	}
	return rest.DeleteDependents
}

func requestVersion(ctx context.Context) (schema.GroupVersion, bool) {
	info, ok := request.RequestInfoFrom(ctx)
	if !ok {
		return schema.GroupVersion{}, false
	}
	return schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, true
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return builtin.ResetFields("apps/v1", "status")
}

func (strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	d := obj.(*appsv1.Deployment)
	d.Status = appsv1.DeploymentStatus{}
	d.Generation = 1
	podspec.DropDisabledFields(&d.Spec.Template.Spec, nil)
}

func (strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validate(obj.(*appsv1.Deployment))
}

func (strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	d := obj.(*appsv1.Deployment)
	return append(replicaset.NameWarnings(d.Name), podspec.TemplateWarnings(&d.Spec.Template, templatePath)...)
}

// PrepareForUpdate moves the generation for annotations too: they are copied to the replica sets.
func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	d, oldD := obj.(*appsv1.Deployment), old.(*appsv1.Deployment)
	d.Status = oldD.Status
	podspec.DropDisabledFields(&d.Spec.Template.Spec, &oldD.Spec.Template.Spec)
	if !apiequality.Semantic.DeepEqual(d.Spec, oldD.Spec) || !apiequality.Semantic.DeepEqual(d.Annotations, oldD.Annotations) {
		d.Generation = oldD.Generation + 1
	}
}

// ValidateUpdate lets clients of apps/v1beta1 alone change the selector, as they always could.
func (strategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	d, oldD := obj.(*appsv1.Deployment), old.(*appsv1.Deployment)
	errs := validateUpdate(d, oldD)
	if version, known := requestVersion(ctx); known && version != appsv1beta1.SchemeGroupVersion {
		errs = append(errs, apivalidation.ValidateImmutableField(d.Spec.Selector, oldD.Spec.Selector, specPath.Child("selector"))...)
	}
	return errs
}

func (strategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	d, oldD := obj.(*appsv1.Deployment), old.(*appsv1.Deployment)
	if d.Generation == oldD.Generation {
		return nil
	}
	return podspec.TemplateWarnings(&d.Spec.Template, templatePath)
}

// StatusStrategy is how a deployment's status is updated.
var StatusStrategy = builtin.StatusStrategy[*appsv1.Deployment]{
	RESTUpdateStrategy: Strategy,
	Keep: func(d, old *appsv1.Deployment) {
		d.Spec = old.Spec
		d.Labels = old.Labels
	},
	Reset: builtin.ResetFields("apps/v1", "spec", "metadata.labels"),
	Check: validateStatusUpdate,
}

// AddToScheme registers defaults and field labels.
func AddToScheme(s *runtime.Scheme) error {
	s.AddTypeDefaultingFunc(&appsv1.Deployment{}, func(obj any) { setDefaults(obj.(*appsv1.Deployment)) })
	s.AddTypeDefaultingFunc(&appsv1.DeploymentList{}, func(obj any) {
		list := obj.(*appsv1.DeploymentList)
		for i := range list.Items {
			setDefaults(&list.Items[i])
		}
	})
	return nil
}

func setDefaults(d *appsv1.Deployment) {
	spec := &d.Spec
	podspec.SetDefault(&spec.Replicas, 1)
	if spec.Strategy.Type == "" {
		spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	}
	if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		podspec.SetDefault(&spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		podspec.SetDefault(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		podspec.SetDefault(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	podspec.SetDefault(&spec.RevisionHistoryLimit, 10)
	podspec.SetDefault(&spec.ProgressDeadlineSeconds, 600)
	podspec.SetDefaultsPodTemplate(&spec.Template)
}
