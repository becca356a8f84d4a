package handler

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// toHub converts a body from the version in which it was sent to the hub version.
func toHub(ctx context.Context, scope *RequestScope, obj runtime.Object, from schema.GroupVersion) (runtime.Object, error) {
	obj, err := convert(ctx, scope, obj, from, scope.HubGroupVersion)
	if err != nil {
		return nil, err
	}
	forgetKind(obj)
	return obj, nil
}

// fromHub converts an object or a list that rest returned to the version of the request.
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
	if obj, err = object.Decode(obj); err != nil {
		return nil, err
	}
	_, step := trace.Start(ctx, steps.HandlerConvert, scope.Kind.Kind)
	defer step.End(&err)
	if step.Recording() {
		step.Text("from", from.String())
		step.Text("to", to.String())
	}
	step.Before(obj)
	if from.Group == to.Group {
		out, err = scope.UnsafeConvertor.ConvertToVersion(obj, to)
	} else if out, err = scope.Creater.New(to.WithKind(scope.Kind.Kind)); err == nil {
		// Several groups have a kind such as Scale. Only its name identifies it.
		err = scope.UnsafeConvertor.Convert(obj, out, nil)
	}
	if err != nil {
		return nil, err
	}
	step.After(out)
	return out, nil
}
