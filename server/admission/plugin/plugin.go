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
	// Name is the plugin's name in --enable-admission-plugins.
	Name       string
	Operations []admission.Operation
	// About lists the resources that the plugin handles; empty means all.
	About []Resource
	// When (optional) reports whether the plugin handles a write, as far as the write itself shows that,
	// without reading other objects.
	When func(admission.Attributes) bool
	// ReadOnly says that the plugin changes no object that it gets. If all plugins that handle a delete are
	// read-only, they get the stored object itself, and no copy.
	ReadOnly bool
	// Admit may change the object of a write or refuse it. Validate may refuse it, after all changes. Either
	// may be nil.
	Admit, Validate Func
	// Find may replace Validate in a plugin that has to read other objects to know whether it handles a write.
	// It returns the function to call, or nil for none: then there is no step. Find itself must not fail; the
	// returned function reports errors.
	Find func(ctx context.Context, a admission.Attributes) Func
}

// Func does a plugin's work. An error is the client's answer.
type Func func(ctx context.Context, w Write) error

// Write is the write that a plugin judges.
type Write struct {
	admission.Attributes
	Objects admission.ObjectInterfaces
	// Step belongs to the plugin, which records its decision there.
	Step *trace.Step
}

// Refusal returns the error that forbids the write.
func (w Write) Refusal(format string, args ...any) error {
	return admission.NewForbidden(w, fmt.Errorf(format, args...))
}

// Resource is a resource, or one of its subresources.
type Resource struct {
	schema.GroupResource
	Subresource string
}

// Resources returns resources of a group, by names such as pods or pods/resize.
func Resources(group string, names ...string) (all []Resource) {
	for _, name := range names {
		resource, sub, _ := strings.Cut(name, "/")
		all = append(all, Resource{schema.GroupResource{Group: group, Resource: resource}, sub})
	}
	return all
}

// Concerns reports whether the plugin handles a write.
func (p *Plugin) Concerns(a admission.Attributes) bool {
	return slices.Contains(p.Operations, a.GetOperation()) &&
		(len(p.About) == 0 || slices.Contains(p.About, Resource{a.GetResource().GroupResource(), a.GetSubresource()})) &&
		(p.When == nil || p.When(a))
}

// WithObject calls f with the object of a write. T must be its type for all resources of the plugin.
func WithObject[T runtime.Object](f func(ctx context.Context, w Write, obj T) error) Func {
	return func(ctx context.Context, w Write) error {
		obj, err := as[T](w.GetObject())
		if err != nil {
			return err
		}
		return f(ctx, w, obj)
	}
}

// WithOld calls f with the new and the old object of an update.
func WithOld[T runtime.Object](f func(ctx context.Context, w Write, obj, old T) error) Func {
	return WithObject(func(ctx context.Context, w Write, obj T) error {
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
