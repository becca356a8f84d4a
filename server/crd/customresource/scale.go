package customresource

import (
	"context"
	"fmt"
	"math"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store/registry"
)

var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// ScaleREST serves the scale subresource of one version. A Scale consists of three fields of the object, and an
// update of it changes the first of them.
type ScaleREST struct {
	store *registry.Store
	// version is the object's version, which its managedFields name.
	version       apischema.GroupVersion
	specPath      string
	spec, status  []string
	selector      []string // nil if the CRD says nothing of it
	columns       *columns
	replicasPaths managedfields.ResourcePathMappings
}

var (
	_ rest.Patcher                  = &ScaleREST{}
	_ rest.GroupVersionKindProvider = &ScaleREST{}
	_ rest.TableConvertor           = &ScaleREST{}
)

func newScaleREST(store *registry.Store, s *strategy, crd *apiextensionsv1.CustomResourceDefinition) *ScaleREST {
	r := &ScaleREST{
		store: store, version: s.kind.GroupVersion(), specPath: s.scale.SpecReplicasPath,
		spec: splitPath(s.scale.SpecReplicasPath), status: splitPath(s.scale.StatusReplicasPath),
		columns: scaleColumns(s.scale), replicasPaths: replicasPaths(crd),
	}
	if path := s.scale.LabelSelectorPath; path != nil && *path != "" {
		r.selector = splitPath(*path)
	}
	return r
}

// replicasPaths returns the path of the replicas in each version of an object, nil if it has none.
func replicasPaths(crd *apiextensionsv1.CustomResourceDefinition) managedfields.ResourcePathMappings {
	paths := managedfields.ResourcePathMappings{}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		var path fieldpath.Path
		if v.Subresources != nil && v.Subresources.Scale != nil {
			for _, name := range splitPath(v.Subresources.Scale.SpecReplicasPath) {
				path = append(path, fieldpath.PathElement{FieldName: &name})
			}
		}
		paths[apischema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}.String()] = path
	}
	return paths
}

func (*ScaleREST) GroupVersionKind(apischema.GroupVersion) apischema.GroupVersionKind {
	return scaleKind
}

func (*ScaleREST) New() runtime.Object { return &autoscalingv1.Scale{} }

// Destroy does nothing: the storage belongs to the resource.
func (*ScaleREST) Destroy() {}

func (r *ScaleREST) ConvertToTable(ctx context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	return r.columns.ConvertToTable(ctx, object, tableOptions)
}

func (r *ScaleREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (_ runtime.Object, err error) {
	ctx, step := trace.Start(ctx, steps.CustomScaleGet, name)
	defer step.End(&err)
	obj, err := r.store.GetEncoded(ctx, name, options)
	if err != nil {
		return nil, err
	}
	scale, found, err := r.scaleOf(obj)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", r.specPath))
	}
	return scale, nil
}

// Update changes the wanted number of replicas. It never creates.
func (r *ScaleREST) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, admit rest.UpdateAdmission,
	options *metav1.UpdateOptions) (_ runtime.Object, _ bool, err error) {
	ctx, step := trace.Start(ctx, steps.CustomScaleUpdate, name)
	defer step.End(&err)
	obj, _, err := r.store.Update(ctx, name, &scaleUpdate{UpdatedObjectInfo: objInfo, rest: r},
		rest.UpdateAdmission{Update: r.validateScaleUpdate(admit.Update)}, options)
	if err != nil {
		return nil, false, err
	}
	scale, _, err := r.scaleOf(obj)
	if err != nil {
		return nil, false, apierrors.NewBadRequest(err.Error())
	}
	return scale, false, nil
}

// validateScaleUpdate passes the Scale to admission instead of the object.
func (r *ScaleREST) validateScaleUpdate(validate rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	if validate == nil {
		return nil
	}
	return func(ctx context.Context, obj, old runtime.Object) error {
		scale, _, err := r.scaleOf(obj)
		if err != nil {
			return err
		}
		was, _, err := r.scaleOf(old)
		if err != nil {
			return err
		}
		return validate(ctx, scale, was)
	}
}

// scaleOf returns the Scale of an object, and whether the object sets the wanted number of replicas.
func (r *ScaleREST) scaleOf(obj runtime.Object) (scale *autoscalingv1.Scale, found bool, err error) {
	if obj, err = object.Decode(obj); err != nil {
		return nil, false, err
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, false, fmt.Errorf("make a Scale: %T is no custom resource", obj)
	}
	wanted, found, err := unstructured.NestedInt64(u.Object, r.spec...)
	if err != nil {
		return nil, false, err
	}
	current, _, err := unstructured.NestedInt64(u.Object, r.status...)
	if err != nil {
		return nil, false, err
	}
	selector := ""
	if r.selector != nil {
		if selector, _, err = unstructured.NestedString(u.Object, r.selector...); err != nil {
			return nil, false, err
		}
	}
	return &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{
			Name:              u.GetName(),
			Namespace:         u.GetNamespace(),
			UID:               u.GetUID(),
			ResourceVersion:   u.GetResourceVersion(),
			CreationTimestamp: u.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(wanted)},
		Status: autoscalingv1.ScaleStatus{Replicas: int32(current), Selector: selector},
	}, found, nil
}

// scaleUpdate computes the next object: object → its Scale → the client's Scale → object.
type scaleUpdate struct {
	rest.UpdatedObjectInfo

	rest *ScaleREST
}

// noReplicas stands for a missing number of replicas. A client that sends it back has not set one either.
const noReplicas = math.MinInt32

func (i *scaleUpdate) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	u := old.DeepCopyObject().(*unstructured.Unstructured)
	managers := managedfields.NewScaleHandler(u.GetManagedFields(), i.rest.version, i.rest.replicasPaths)
	was, found, err := i.rest.scaleOf(u)
	if err != nil {
		return nil, err
	}
	if !found {
		was.Spec.Replicas = noReplicas
	}
	if was.ManagedFields, err = managers.ToSubresource(); err != nil {
		return nil, err
	}
	obj, err := i.UpdatedObjectInfo.UpdatedObject(ctx, was)
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
	if scale.Spec.Replicas == noReplicas {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", i.rest.specPath))
	}
	if err := unstructured.SetNestedField(u.Object, int64(scale.Spec.Replicas), i.rest.spec...); err != nil {
		return nil, err
	}
	if scale.ResourceVersion != "" {
		u.SetResourceVersion(scale.ResourceVersion)
	}
	entries, err := managers.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	u.SetManagedFields(entries)
	return u, nil
}
