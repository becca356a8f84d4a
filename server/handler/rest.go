package handler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// Through the functions of this file the handlers call rest. Each verb has one, and each is a step.

func restGet(ctx context.Context, r rest.Getter, name string, options *metav1.GetOptions) (obj runtime.Object, err error) {
	ctx, step := trace.Start(ctx, steps.RESTGet, name)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return nil, err
	}
	getMethod.note(step, r)
	noteVersion(step, options.ResourceVersion)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return rest.EncodedGet(r)(ctx, name, options)
}

func restGetWithOptions(ctx context.Context, r rest.GetterWithOptions, name string,
	options runtime.Object) (obj runtime.Object, err error) {
	return restGet(ctx, getterFor{r, options}, name, &metav1.GetOptions{})
}

// getterFor adapts a GetterWithOptions to a Getter for one request.
type getterFor struct {
	rest.GetterWithOptions
	options runtime.Object
}

func (g getterFor) adapted() any { return g.GetterWithOptions }

func (g getterFor) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	return g.GetterWithOptions.Get(ctx, name, g.options)
}

func restConnect(ctx context.Context, r rest.Connecter[http.Handler], name string, options runtime.Object,
	responder rest.Responder) (h http.Handler, err error) {
	ctx, step := trace.Start(ctx, steps.RESTConnect, name)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return nil, err
	}
	connectMethod.note(step, r)
	return r.Connect(ctx, name, options, responder)
}

func restList(ctx context.Context, r rest.Lister, subject string,
	options *metainternalversion.ListOptions) (obj runtime.Object, err error) {
	ctx, step := trace.Start(ctx, steps.RESTList, subject)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return nil, err
	}
	listMethod.note(step, r)
	if step.Recording() {
		noteSelection(step, options)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return rest.EncodedList(r)(ctx, options)
}

func noteVersion(step *trace.Step, resourceVersion string) {
	if resourceVersion != "" {
		step.Text("resourceVersion", resourceVersion)
	}
}

// noteSelection adds the selection of a list to step.
func noteSelection(step *trace.Step, options *metainternalversion.ListOptions) {
	noteVersion(step, options.ResourceVersion)
	if options.Limit > 0 {
		step.Int("limit", options.Limit)
	}
	if options.LabelSelector != nil && !options.LabelSelector.Empty() {
		step.Text("labelSelector", options.LabelSelector.String())
	}
	if options.FieldSelector != nil && !options.FieldSelector.Empty() {
		step.Text("fieldSelector", mask.Selector(options.FieldSelector))
	}
}

func restCreate(ctx context.Context, r rest.NamedCreater, name string, in runtime.Object, validate rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (obj runtime.Object, err error) {
	ctx, step := trace.Start(ctx, steps.RESTCreate, name)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return nil, err
	}
	createMethod.note(step, r)
	step.Before(in)
	obj, err = finishRequest(ctx, func() (runtime.Object, error) {
		return r.Create(ctx, name, in, validate, options)
	})
	if err == nil {
		step.After(obj)
	}
	if name == "" { // it was generated
		made := obj
		if err != nil {
			made = in
		}
		nameJourney(ctx, nameOf(made))
	}
	return obj, err
}

// nameJourney adds the object's name to the journey of a create, whose path does not have it.
func nameJourney(ctx context.Context, name string) {
	journey := trace.FromContext(ctx)
	if journey == nil || name == "" {
		return
	}
	journey.UpdateRequest(func(q *trace.Request) {
		if q.Name == "" {
			q.Name = name
		}
	})
}

// nameOf returns an object's name, "" if it has none. The key of an encoded object ends with the name, so nothing needs
// to be decoded.
func nameOf(obj runtime.Object) string {
	if encoded, ok := obj.(*object.Encoded); ok {
		return path.Base(encoded.Key())
	}
	if m, err := meta.Accessor(obj); err == nil {
		return m.GetName()
	}
	return ""
}

// namedCreaterAdapter adapts a Creater, which finds the name in the object, to a NamedCreater.
type namedCreaterAdapter struct{ rest.Creater }

func (c namedCreaterAdapter) adapted() any { return c.Creater }

func (c namedCreaterAdapter) Create(ctx context.Context, _ string, obj runtime.Object, createValidation rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	return c.Creater.Create(ctx, obj, createValidation, options)
}

func restUpdate(ctx context.Context, r rest.Updater, name string, info rest.UpdatedObjectInfo, admit rest.UpdateAdmission,
	options *metav1.UpdateOptions) (obj runtime.Object, created bool, err error) {
	ctx, step := trace.Start(ctx, steps.RESTUpdate, name)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return nil, false, err
	}
	updateMethod.note(step, r)
	obj, err = finishRequest(ctx, func() (out runtime.Object, err error) {
		out, created, err = r.Update(ctx, name, info, admit, options)
		return out, err
	})
	if err == nil {
		step.After(obj)
	}
	return obj, created, err
}

var deletionWaits = trace.Because("deletion-waits",
	"finalizers or a grace period keep the object for now",
	"终结器或宽限期让对象暂时保留")

func restDelete(ctx context.Context, r rest.GracefulDeleter, name string, validate rest.ValidateObjectFunc,
	options *metav1.DeleteOptions) (obj runtime.Object, deleted bool, err error) {
	ctx, step := trace.Start(ctx, steps.RESTDelete, name)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return nil, false, err
	}
	deleteMethod.note(step, r)
	obj, err = finishRequest(ctx, func() (out runtime.Object, err error) {
		out, deleted, err = r.Delete(ctx, name, validate, options)
		return out, err
	})
	if err == nil && !deleted {
		step.Why(deletionWaits)
	}
	return obj, deleted, err
}

func restDeleteCollection(ctx context.Context, r rest.CollectionDeleter, subject string, validate rest.ValidateObjectFunc,
	options *metav1.DeleteOptions, listOptions *metainternalversion.ListOptions) (obj runtime.Object, err error) {
	ctx, step := trace.Start(ctx, steps.RESTDeleteCollection, subject)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return nil, err
	}
	deleteCollectionMethod.note(step, r)
	return finishRequest(ctx, func() (runtime.Object, error) {
		return r.DeleteCollection(ctx, validate, options, listOptions)
	})
}

// finishRequest runs a write on the request's own goroutine. If the deadline passes, it returns a 504. It turns a
// Status other than success into an error. A write whose deadline has passed does not begin, since etcd might still
// carry it out.
func finishRequest(ctx context.Context, fn func() (runtime.Object, error)) (runtime.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, requestTimedOut(err)
	}
	obj, err := fn()
	if timedOut(ctx, err) {
		return nil, requestTimedOut(ctx.Err())
	}
	if err != nil {
		return nil, err
	}
	if status, ok := obj.(*metav1.Status); ok && status.Status != metav1.StatusSuccess {
		return nil, apierrors.FromObject(status)
	}
	return obj, nil
}

// timedOut reports whether err comes from the end of ctx. An error with a Status other than 500 has a better reason.
func timedOut(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() == nil {
		return false
	}
	var carrier apierrors.APIStatus
	return !errors.As(err, &carrier) || carrier.Status().Code == http.StatusInternalServerError
}

// requestTimedOut returns the 504 for a request whose context ended with err.
func requestTimedOut(err error) error {
	return apierrors.NewTimeoutError(fmt.Sprintf("request did not complete within requested timeout - %s", err), 0)
}
