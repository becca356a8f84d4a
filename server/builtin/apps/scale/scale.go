// Package scale implements the subresource scale, for every resource that keeps a number of pods.
//
// It converts between an object and its Scale, in autoscaling/v1: Scales of other versions are converted to it above
// rest. An update of a Scale changes only the object's replicas, under the preconditions (uid, resourceVersion) of
// the Scale.
package scale

import (
	"context"
	"fmt"

	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store/registry"
)

// View is the part of an object that its Scale shows: the desired and the current number of pods, and their selector.
type View struct {
	Replicas *int32
	Current  int32
	Selector *metav1.LabelSelector
}

// ScaleREST serves the subresource scale of one resource.
type ScaleREST struct {
	store    *registry.Store
	resource schema.GroupResource
	// view fails for an object of another resource.
	view func(runtime.Object) (builtin.Object, View, error)
}

// Sub declares the subresource scale. The view's Replicas must point into the object: updates change them.
func Sub[T builtin.Object](view func(T) View) builtin.Sub {
	return sub(func(obj runtime.Object) (builtin.Object, View, error) {
		object, err := builtin.As[T](obj)
		if err != nil {
			return nil, View{}, err
		}
		return object, view(object), nil
	})
}

func sub(view func(runtime.Object) (builtin.Object, View, error)) builtin.Sub {
	return builtin.Sub{Name: "scale", New: builtin.Make(func(r *builtin.REST) rest.Storage {
		resource := r.DefaultQualifiedResource
		resource.Resource += "/scale"
		return &ScaleREST{store: r.Store, resource: resource, view: view}
	})}
}

// GroupVersionKind returns autoscaling's Scale. Old versions of apps have their own Scale.
func (*ScaleREST) GroupVersionKind(containingGV schema.GroupVersion) schema.GroupVersionKind {
	switch containingGV {
	case appsv1beta1.SchemeGroupVersion, appsv1beta2.SchemeGroupVersion:
		return containingGV.WithKind("Scale")
	}
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
}

func (*ScaleREST) New() runtime.Object { return &autoscalingv1.Scale{} }

// Destroy does nothing: the resource owns the storage.
func (*ScaleREST) Destroy() {}

func (r *ScaleREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (_ runtime.Object, err error) {
	ctx, step := trace.Start(ctx, steps.ScaleGet, name)
	defer step.End(&err)
	obj, err := r.store.GetEncoded(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return r.answer(obj)
}

// Update changes the desired number of pods. It never creates an object.
func (r *ScaleREST) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, admit rest.UpdateAdmission,
	options *metav1.UpdateOptions) (_ runtime.Object, _ bool, err error) {
	ctx, step := trace.Start(ctx, steps.ScaleUpdate, name)
	defer step.End(&err)
	obj, _, err := r.store.Update(ctx, name, &updatedObjectInfo{UpdatedObjectInfo: objInfo, rest: r, name: name},
		rest.UpdateAdmission{Update: r.validateUpdate(admit.Update)}, options)
	if err != nil {
		return nil, false, err
	}
	scale, err := r.answer(obj)
	return scale, false, err
}

func (*ScaleREST) ConvertToTable(ctx context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	return table.ConvertToTable(ctx, object, tableOptions)
}

// The name column lacks a format, as in a kube-apiserver's table of scales.
var columns = []builtin.Column{
	{Name: "Name", Type: "string", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]},
	{Name: "Desired", Type: "integer", Description: autoscalingv1.ScaleSpec{}.SwaggerDoc()["replicas"]},
	{Name: "Available", Type: "integer", Description: autoscalingv1.ScaleStatus{}.SwaggerDoc()["replicas"]},
	builtin.AgeColumn,
}

// table makes kubectl's tables of scales.
var table = builtin.NewTable(columns, func(s *autoscalingv1.Scale) metav1.TableRow {
	return builtin.Row(s.Name, int64(s.Spec.Replicas), int64(s.Status.Replicas), builtin.Age(s.CreationTimestamp))
})

// answer converts a stored object to its Scale.
func (r *ScaleREST) answer(obj runtime.Object) (runtime.Object, error) {
	scale, err := r.scaleOf(obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return scale, nil
}

func (r *ScaleREST) scaleOf(obj runtime.Object) (*autoscalingv1.Scale, error) {
	object, view, err := r.view(obj)
	if err != nil {
		return nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(view.Selector)
	if err != nil {
		return nil, err
	}
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name:              object.GetName(),
			Namespace:         object.GetNamespace(),
			UID:               object.GetUID(),
			ResourceVersion:   object.GetResourceVersion(),
			CreationTimestamp: object.GetCreationTimestamp(),
		},
		Status: autoscalingv1.ScaleStatus{Replicas: view.Current, Selector: selector.String()},
	}
	if view.Replicas != nil {
		scale.Spec.Replicas = *view.Replicas
	}
	return scale, nil
}

// validateUpdate passes the Scale to admission, and not the object.
func (r *ScaleREST) validateUpdate(validate rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	if validate == nil {
		return nil
	}
	return func(ctx context.Context, obj, old runtime.Object) error {
		scale, err := r.scaleOf(obj)
		if err != nil {
			return err
		}
		oldScale, err := r.scaleOf(old)
		if err != nil {
			return err
		}
		return validate(ctx, scale, oldScale)
	}
}

// updatedObjectInfo makes the new object: object → its Scale → the client's Scale → object.
type updatedObjectInfo struct {
	rest.UpdatedObjectInfo

	rest *ScaleREST
	name string
}

func (i *updatedObjectInfo) UpdatedObject(ctx context.Context, oldObj runtime.Object) (runtime.Object, error) {
	object, view, err := i.rest.view(oldObj.DeepCopyObject())
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if object.GetResourceVersion() == "" {
		return nil, apierrors.NewNotFound(i.rest.resource, i.name)
	}
	managers := managedfields.NewScaleHandler(object.GetManagedFields(), requestVersion(ctx), replicasPaths)
	oldScale, err := i.rest.scaleOf(object)
	if err != nil {
		return nil, err
	}
	if oldScale.ManagedFields, err = managers.ToSubresource(); err != nil {
		return nil, err
	}
	scale, err := i.newScale(ctx, oldScale)
	if err != nil {
		return nil, err
	}
	if scale.UID != "" && scale.UID != object.GetUID() {
		//lint:ignore ST1005 Every Kubernetes API server sends clients these words.
		failed := fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", scale.UID, object.GetUID())
		return nil, apierrors.NewConflict(i.rest.resource, object.GetName(), failed)
	}
	*view.Replicas = scale.Spec.Replicas
	object.SetResourceVersion(scale.ResourceVersion)
	entries, err := managers.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	object.SetManagedFields(entries)
	return object, nil
}

// newScale applies the client's change to the current Scale.
func (i *updatedObjectInfo) newScale(ctx context.Context, old *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	obj, err := i.UpdatedObjectInfo.UpdatedObject(ctx, old)
	if err != nil {
		return nil, err
	}
	if obj == nil {
		return nil, apierrors.NewBadRequest("nil update passed to Scale")
	}
	scale, ok := obj.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("wrong object passed to Scale update: %v", obj))
	}
	// The server ignores the rest of the metadata.
	errs := metav1validation.ValidateManagedFields(scale.ManagedFields, field.NewPath("metadata", "managedFields"))
	if scale.Spec.Replicas < 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "replicas"), scale.Spec.Replicas, "must be greater than or equal to 0"))
	}
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: autoscalingv1.GroupName, Kind: "Scale"}, i.name, errs)
	}
	return scale, nil
}

// replicasPaths maps each version of an object to the path of its replicas.
var replicasPaths = managedfields.ResourcePathMappings{
	"apps/v1beta1": fieldpath.MakePathOrDie("spec", "replicas"),
	"apps/v1beta2": fieldpath.MakePathOrDie("spec", "replicas"),
	"apps/v1":      fieldpath.MakePathOrDie("spec", "replicas"),
	"v1":           fieldpath.MakePathOrDie("spec", "replicas"),
}

// requestVersion returns the API version under which managed fields are recorded.
func requestVersion(ctx context.Context) schema.GroupVersion {
	if info, ok := request.RequestInfoFrom(ctx); ok {
		version := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
		if _, known := replicasPaths[version.String()]; known {
			return version
		}
	}
	return schema.GroupVersion{Group: "apps", Version: "v1"}
}
