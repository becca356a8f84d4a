package rest

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TransformFunc changes newObj or returns another object. It must not change oldObj.
type TransformFunc func(ctx context.Context, newObj, oldObj runtime.Object) (transformedNewObj runtime.Object, err error)

// DefaultUpdatedObjectInfo makes obj the next state, after the transformers changed it. If obj is nil, the transformers
// start from the present state. If obj has a UID, the present state must have the same.
func DefaultUpdatedObjectInfo(obj runtime.Object, transformers ...TransformFunc) UpdatedObjectInfo {
	return &defaultUpdatedObjectInfo{obj: obj, transformers: transformers}
}

type defaultUpdatedObjectInfo struct {
	obj          runtime.Object
	transformers []TransformFunc
}

func (i *defaultUpdatedObjectInfo) Preconditions() *metav1.Preconditions {
	if i.obj == nil {
		return nil
	}
	m, err := meta.Accessor(i.obj)
	if err != nil || m.GetUID() == "" {
		return nil
	}
	uid := m.GetUID()
	return &metav1.Preconditions{UID: &uid}
}

// UpdatedObject copies each time, because the storage changes its argument and may call again.
func (i *defaultUpdatedObjectInfo) UpdatedObject(ctx context.Context, oldObj runtime.Object) (runtime.Object, error) {
	newObj := i.obj
	if newObj != nil {
		newObj = newObj.DeepCopyObject()
	}
	return transform(ctx, newObj, oldObj, i.transformers)
}

// WrapUpdatedObjectInfo runs more transformers after those of objInfo.
func WrapUpdatedObjectInfo(objInfo UpdatedObjectInfo, transformers ...TransformFunc) UpdatedObjectInfo {
	return &wrappedUpdatedObjectInfo{UpdatedObjectInfo: objInfo, transformers: transformers}
}

type wrappedUpdatedObjectInfo struct {
	UpdatedObjectInfo
	transformers []TransformFunc
}

func (i *wrappedUpdatedObjectInfo) UpdatedObject(ctx context.Context, oldObj runtime.Object) (runtime.Object, error) {
	newObj, err := i.UpdatedObjectInfo.UpdatedObject(ctx, oldObj)
	if err != nil {
		return nil, err
	}
	return transform(ctx, newObj, oldObj, i.transformers)
}

func transform(ctx context.Context, newObj, oldObj runtime.Object, transformers []TransformFunc) (runtime.Object, error) {
	for _, f := range transformers {
		var err error
		if newObj, err = f(ctx, newObj, oldObj); err != nil {
			return nil, err
		}
	}
	return newObj, nil
}
