package handler

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/trace"
)

// toHub brings a body that was sent in version from into the hub version.
func toHub(ctx context.Context, scope *RequestScope, obj runtime.Object, from schema.GroupVersion) (runtime.Object, error) {
	obj, err := convert(ctx, scope, obj, from, scope.HubGroupVersion)
	if err != nil {
		return nil, err
	}
	forgetKind(obj)
	return obj, nil
}

// fromHub brings what came from rest, an object or a list, into the version of the request.
func fromHub(ctx context.Context, scope *RequestScope, obj runtime.Object) (runtime.Object, error) {
	if _, ok := obj.(*metav1.Status); ok {
		return obj, nil
	}
	return convert(ctx, scope, obj, scope.HubGroupVersion, scope.Kind.GroupVersion())
}

// convert does nothing if the versions are the same. The result may share memory with obj.
func convert(ctx context.Context, scope *RequestScope, obj runtime.Object, from, to schema.GroupVersion) (out runtime.Object, err error) {
	if from == to {
		return obj, nil
	}
	if obj, err = object.Decoded(obj); err != nil {
		return nil, err
	}
	_, step := trace.Start(ctx, trace.HandlerConvert, scope.Kind.Kind)
	defer step.End(&err)
	if step.Recording() {
		step.Text("from", from.String())
		step.Text("to", to.String())
	}
	step.Before(obj)
	if from.Group == to.Group {
		out, err = scope.UnsafeConvertor.ConvertToVersion(obj, to)
	} else if out, err = scope.Creater.New(to.WithKind(scope.Kind.Kind)); err == nil {
		// A kind that several groups have, such as Scale: only its name says that it is the same.
		err = scope.UnsafeConvertor.Convert(obj, out, nil)
	}
	if err != nil {
		return nil, err
	}
	step.After(out)
	return out, nil
}
