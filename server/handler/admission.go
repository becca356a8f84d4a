package handler

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// concerned reports whether admission applies to such a write. If it does not, there is no step, because nothing
// happens. An admission that can't tell counts as one that applies.
func concerned(scope *RequestScope, attributes admission.Attributes) bool {
	one, tells := scope.Admit.(interface {
		Concerns(admission.Attributes) bool
	})
	return !tells || one.Concerns(attributes)
}

// changes reports whether admission may change the objects of such a write. An admission that can't tell counts as one
// that may.
func changes(scope *RequestScope, attributes admission.Attributes) bool {
	one, tells := scope.Admit.(interface {
		Changes(admission.Attributes) bool
	})
	return !tells || one.Changes(attributes)
}

// mutate runs mutating admission, which may change the object of attributes.
func mutate(ctx context.Context, scope *RequestScope, attributes admission.Attributes) (err error) {
	admit, ok := admission.WithAudit(scope.Admit).(admission.MutationInterface)
	if !ok || !admit.Handles(attributes.GetOperation()) || !concerned(scope, attributes) {
		return nil
	}
	ctx, step := trace.Start(ctx, steps.HandlerMutate, string(attributes.GetOperation()))
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return err
	}
	step.Before(attributes.GetObject())
	err = keepManagedFieldsValid(ctx, attributes.GetObject(), func() error { return admit.Admit(ctx, attributes, scope) })
	if err != nil {
		return err
	}
	step.After(attributes.GetObject())
	return nil
}

// validate runs validating admission.
func validate(ctx context.Context, scope *RequestScope, attributes admission.Attributes) (err error) {
	admit, ok := admission.WithAudit(scope.Admit).(admission.ValidationInterface)
	if !ok || !admit.Handles(attributes.GetOperation()) || !concerned(scope, attributes) {
		return nil
	}
	ctx, step := trace.Start(ctx, steps.HandlerValidate, string(attributes.GetOperation()))
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return err
	}
	return admit.Validate(ctx, attributes, scope)
}

// admissionToValidateObjectFunc returns the function by which storage runs validating admission before it creates an
// object.
func admissionToValidateObjectFunc(scope *RequestScope, static admission.Attributes) rest.ValidateObjectFunc {
	if scope.Admit == nil {
		return rest.ValidateAllObjectFunc
	}
	return func(ctx context.Context, obj runtime.Object) error {
		// A generated name is known only now.
		name := static.GetName()
		if name == "" {
			if m, err := meta.Accessor(obj); err == nil {
				name = m.GetName()
			}
		}
		return validate(ctx, scope, withObjects(static, name, obj, static.GetOldObject()))
	}
}

// admissionToValidateObjectUpdateFunc returns the function by which storage runs validating admission before an update.
func admissionToValidateObjectUpdateFunc(scope *RequestScope, static admission.Attributes) rest.ValidateObjectUpdateFunc {
	if scope.Admit == nil {
		return rest.ValidateAllObjectUpdateFunc
	}
	return func(ctx context.Context, obj, old runtime.Object) error {
		return validate(ctx, scope, withObjects(static, static.GetName(), obj, old))
	}
}

// admissionToValidateObjectDeleteFunc returns the function by which storage runs mutating and validating admission
// before it deletes an object.
func admissionToValidateObjectDeleteFunc(scope *RequestScope, static admission.Attributes) rest.ValidateObjectFunc {
	if scope.Admit == nil {
		return rest.ValidateAllObjectFunc
	}
	return func(ctx context.Context, old runtime.Object) error {
		if !concerned(scope, static) {
			return nil
		}
		if changes(scope, static) {
			old = old.DeepCopyObject() // it may be shared
		}
		attributes := withObjects(static, static.GetName(), nil, old)
		if err := mutate(ctx, scope, attributes); err != nil {
			return err
		}
		return validate(ctx, scope, attributes)
	}
}

// BeginWrite returns the context of one write. In it the plugins of admission share what they have read.
func (scope *RequestScope) BeginWrite(ctx context.Context) context.Context {
	if one, ok := scope.Admit.(interface {
		BeginWrite(context.Context) context.Context
	}); ok {
		return one.BeginWrite(ctx)
	}
	return ctx
}

// withCondition returns the context of a create in r, to which admission may add a condition if r is in an etcd.
func withCondition(ctx context.Context, r any) context.Context {
	if adapter, ok := r.(interface{ adapted() any }); ok {
		r = adapter.adapted()
	}
	var etcd store.Etcd
	if stored, ok := r.(interface{ Etcd() store.Etcd }); ok {
		etcd = stored.Etcd()
	}
	return store.WithCondition(ctx, etcd)
}

// AdmitCreate runs mutating admission for an object that is about to be created in r. It returns the context for the
// create, and the function that runs validating admission in it.
func (scope *RequestScope) AdmitCreate(ctx context.Context, r any, namespace, name string, obj runtime.Object,
	options *metav1.CreateOptions) (context.Context, rest.ValidateObjectFunc, error) {
	ctx = withCondition(scope.BeginWrite(ctx), r)
	user, _ := request.UserFrom(ctx)
	attributes := admission.NewAttributesRecord(obj, nil, scope.Kind, namespace, name, scope.Resource, scope.Subresource,
		admission.Create, options, len(options.DryRun) > 0, user)
	if err := mutate(ctx, scope, attributes); err != nil {
		return ctx, nil, err
	}
	return ctx, admissionToValidateObjectFunc(scope, attributes), nil
}

// AdmitUpdate returns the functions that run mutating and validating admission for each next state of an object.
func (scope *RequestScope) AdmitUpdate(ctx context.Context, namespace, name string,
	options *metav1.UpdateOptions) (rest.TransformFunc, rest.ValidateObjectUpdateFunc) {
	u := newUpdate(ctx, scope, namespace, name, "", options)
	return u.admit, u.validation(false).Update
}

// AdmitDelete returns the function that runs admission for each object to be deleted. An empty name stands for a
// collection.
func (scope *RequestScope) AdmitDelete(ctx context.Context, namespace, name string, options *metav1.DeleteOptions) rest.ValidateObjectFunc {
	return admissionToValidateObjectDeleteFunc(scope, deleteAttributes(ctx, scope, namespace, name, options))
}

// withObjects copies the attributes of a request and sets its objects, which are known only later.
func withObjects(a admission.Attributes, name string, obj, old runtime.Object) admission.Attributes {
	return admission.NewAttributesRecord(obj, old, a.GetKind(), a.GetNamespace(), name, a.GetResource(), a.GetSubresource(),
		a.GetOperation(), a.GetOperationOptions(), a.IsDryRun(), a.GetUserInfo())
}
