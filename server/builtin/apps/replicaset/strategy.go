package replicaset

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

type strategy struct{ builtin.Strategy }

// Strategy is how replica sets are created, updated and deleted.
var Strategy = strategy{builtin.NewStrategy(true)}

var _ rest.GarbageCollectionDeleteStrategy = Strategy

// DefaultGarbageCollectionPolicy orphans the pods for clients of a version from when nothing else was known.
func (strategy) DefaultGarbageCollectionPolicy(ctx context.Context) rest.GarbageCollectionPolicy {
	if info, ok := request.RequestInfoFrom(ctx); ok {
		if (schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}) == appsv1beta2.SchemeGroupVersion {
			return rest.OrphanDependents
		}
	}
	return rest.DeleteDependents
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return builtin.ResetFields("apps/v1", "status")
}

func (strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	rs := obj.(*appsv1.ReplicaSet)
	rs.Status = appsv1.ReplicaSetStatus{}
	rs.Generation = 1
	podspec.DropDisabledFields(&rs.Spec.Template.Spec, nil)
}

func (strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validate(obj.(*appsv1.ReplicaSet))
}

func (strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	rs := obj.(*appsv1.ReplicaSet)
	return append(NameWarnings(rs.Name), podspec.TemplateWarnings(&rs.Spec.Template, templatePath)...)
}

func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	rs, oldRS := obj.(*appsv1.ReplicaSet), old.(*appsv1.ReplicaSet)
	rs.Status = oldRS.Status
	podspec.DropDisabledFields(&rs.Spec.Template.Spec, &oldRS.Spec.Template.Spec)
	if !apiequality.Semantic.DeepEqual(rs.Spec, oldRS.Spec) {
		rs.Generation = oldRS.Generation + 1
	}
}

func (strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validateUpdate(obj.(*appsv1.ReplicaSet), old.(*appsv1.ReplicaSet))
}

func (strategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	rs, oldRS := obj.(*appsv1.ReplicaSet), old.(*appsv1.ReplicaSet)
	if rs.Generation == oldRS.Generation {
		return nil
	}
	return podspec.TemplateWarnings(&rs.Spec.Template, templatePath)
}

// StatusStrategy is how a replica set's status is updated.
var StatusStrategy = builtin.StatusStrategy[*appsv1.ReplicaSet]{
	RESTUpdateStrategy: Strategy,
	Keep:               func(rs, old *appsv1.ReplicaSet) { rs.Spec = old.Spec },
	Reset:              builtin.ResetFields("apps/v1", "spec"),
	Check:              validateStatusUpdate,
}

// NameWarnings are what the author should know of a name that pods' names begin with.
func NameWarnings(name string) []string {
	if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
		return []string{fmt.Sprintf("metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: %v", wrong)}
	}
	return nil
}

// AddToScheme registers defaults and field labels.
func AddToScheme(s *runtime.Scheme) error {
	s.AddTypeDefaultingFunc(&appsv1.ReplicaSet{}, func(obj any) { setDefaults(obj.(*appsv1.ReplicaSet)) })
	s.AddTypeDefaultingFunc(&appsv1.ReplicaSetList{}, func(obj any) {
		list := obj.(*appsv1.ReplicaSetList)
		for i := range list.Items {
			setDefaults(&list.Items[i])
		}
	})
	return builtin.AddFieldLabels(s, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), nil,
		"metadata.name", "metadata.namespace", "status.replicas")
}

func setDefaults(rs *appsv1.ReplicaSet) {
	if rs.Spec.Replicas == nil {
		rs.Spec.Replicas = new(int32)
		*rs.Spec.Replicas = 1
	}
	podspec.SetDefaultsPodTemplate(&rs.Spec.Template)
}

// Attrs is what selectors see of a replica set.
func Attrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	rs, err := builtin.As[*appsv1.ReplicaSet](obj)
	if err != nil {
		return nil, nil, err
	}
	f := builtin.MetaFields(&rs.ObjectMeta, 1)
	f["status.replicas"] = fmt.Sprint(rs.Status.Replicas)
	return rs.Labels, f, nil
}

// ContainerCells are the names and the images of containers, as kubectl shows them.
func ContainerCells(containers []corev1.Container) (names, images string) {
	for i, c := range containers {
		if i > 0 {
			names += ","
			images += ","
		}
		names += c.Name
		images += c.Image
	}
	return names, images
}
