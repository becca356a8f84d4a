package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/kx-apiserver/kx/core/trace"
)

// Plugin is one plugin of the chain.
type Plugin struct {
	// Name is the one that --enable-admission-plugins has for it.
	Name       string
	Operations []admission.Operation
	// About are the resources that it is about, all if there are none.
	About []Resource
	// When (optional) says whether it is about a write, as far as that can be said at once, without a look at other objects.
	When func(admission.Attributes) bool
	// Admit may change the object of a write or refuse it. Validate may refuse it, when nobody changes it any more. Either may be nil.
	Admit, Validate Func
	// Find may be there instead of Validate, for a plugin that has to look at other objects to know whether it is about a write. It returns
	// what is to be done, nil if nothing is: then there is no step. It must not fail by itself: what it returns says what went wrong.
	Find func(ctx context.Context, a admission.Attributes) Func
}

// Func does a plugin's work. An error is the client's answer.
type Func func(ctx context.Context, w Write) error

// Write is what a plugin is asked about.
type Write struct {
	admission.Attributes
	Objects admission.ObjectInterfaces
	// Step is the plugin's own: what it decided, it says there.
	Step *trace.Step
}

// Refused is an answer that forbids the write.
func (w Write) Refused(format string, args ...any) error {
	return admission.NewForbidden(w, fmt.Errorf(format, args...))
}

// Resource is a resource, or one of its subresources.
type Resource struct {
	schema.GroupResource
	Subresource string
}

// Of returns resources of a group, by names such as pods or pods/resize.
func Of(group string, names ...string) (all []Resource) {
	for _, name := range names {
		resource, sub, _ := strings.Cut(name, "/")
		all = append(all, Resource{schema.GroupResource{Group: group, Resource: resource}, sub})
	}
	return all
}

// Concerns says whether the plugin is about such a write.
func (p *Plugin) Concerns(a admission.Attributes) bool {
	return slices.Contains(p.Operations, a.GetOperation()) &&
		(len(p.About) == 0 || slices.Contains(p.About, Resource{a.GetResource().GroupResource(), a.GetSubresource()})) &&
		(p.When == nil || p.When(a))
}

// With does f with the object of a write, which is of type T for all resources of a plugin.
func With[T runtime.Object](f func(ctx context.Context, w Write, obj T) error) Func {
	return func(ctx context.Context, w Write) error {
		obj, err := as[T](w.GetObject())
		if err != nil {
			return err
		}
		return f(ctx, w, obj)
	}
}

// WithOld does f with the object of an update as it is to be and as it is.
func WithOld[T runtime.Object](f func(ctx context.Context, w Write, obj, old T) error) Func {
	return With(func(ctx context.Context, w Write, obj T) error {
		old, err := as[T](w.GetOldObject())
		if err != nil {
			return err
		}
		return f(ctx, w, obj, old)
	})
}

func as[T runtime.Object](obj runtime.Object) (T, error) {
	t, ok := obj.(T)
	if !ok {
		return t, apierrors.NewInternalError(fmt.Errorf("admission got a %T and not a %T", obj, t))
	}
	return t, nil
}
