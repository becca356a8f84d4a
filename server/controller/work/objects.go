package work

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/endpoint"
)

// Objects reads and writes the objects of one built-in resource for a controller. If the resource is not
// served, it has none.
type Objects[T builtin.Object] struct {
	// Kit is the kit of the controller.
	Kit      *Kit
	writer   *Writer
	resource schema.GroupVersionResource
}

// ObjectsOf returns the objects of a resource, for a writer.
func ObjectsOf[T builtin.Object](kit *Kit, writer *Writer, resource schema.GroupVersionResource) *Objects[T] {
	return &Objects[T]{Kit: kit, writer: writer, resource: resource}
}

// Decision is the reason for a write, and how to perform it.
type Decision struct {
	// Cause is the revision that caused it, 0 if it is unknown.
	Cause int64
	// Why records the decision in the first step of the write.
	Why func(*trace.Step)
	// Quiet records no journey of the write.
	Quiet bool
	// AsSeen skips the write if the object has changed since it was read: its followers will receive that
	// change.
	AsSeen bool
}

// Decide returns a decision with a reason that has no values.
func Decide(cause int64, reason trace.Reason) Decision {
	return Decision{Cause: cause, Why: func(step *trace.Step) { step.Why(reason) }}
}

// Get returns the current object. It may be shared: the caller must not change it.
func (o *Objects[T]) Get(ctx context.Context, namespace, name string) (obj T, found bool, err error) {
	return o.get(ctx, namespace, name, &metav1.GetOptions{})
}

// Cached returns an object from a cache, which may be a moment behind.
func (o *Objects[T]) Cached(ctx context.Context, namespace, name string) (obj T, found bool, err error) {
	return o.get(ctx, namespace, name, &metav1.GetOptions{ResourceVersion: "0"})
}

func (o *Objects[T]) get(ctx context.Context, namespace, name string, options *metav1.GetOptions) (obj T, found bool, err error) {
	ctx = o.writer.Reads(ctx, "get", o.resource, namespace, name)
	obj, err = builtin.Get[T](ctx, o.Kit.Storage(o.resource), name, options)
	if apierrors.IsNotFound(err) || errors.Is(err, builtin.ErrNotServed) {
		return obj, false, nil
	}
	return obj, err == nil, err
}

// List returns the objects of a namespace, or of all namespaces if it is empty. It fails if one of them can't
// be read. They may be shared.
func (o *Objects[T]) List(ctx context.Context, namespace string) (all []T, err error) {
	ctx = o.writer.Reads(ctx, "list", o.resource, namespace, "")
	all, err = builtin.List[T](ctx, o.Kit.Storage(o.resource), &metainternalversion.ListOptions{})
	if errors.Is(err, builtin.ErrNotServed) {
		return nil, nil
	}
	return all, err
}

// Readable is List without the objects that can't be read.
func (o *Objects[T]) Readable(ctx context.Context, namespace string) (all []T, err error) {
	lister, ok := o.Kit.Storage(o.resource).(rest.Lister)
	if !ok {
		return nil, nil
	}
	ctx = o.writer.Reads(ctx, "list", o.resource, namespace, "")
	list, _, err := builtin.ListReadable(ctx, lister, &metainternalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	return all, meta.EachListItem(list, func(item runtime.Object) error {
		obj, err := builtin.As[T](item)
		all = append(all, obj)
		return err
	})
}

// Create creates an object, unless its name is taken.
func (o *Objects[T]) Create(ctx context.Context, obj T, d Decision) (err error) {
	creater, ok := o.Kit.Storage(o.resource).(rest.Creater)
	if !ok {
		return fmt.Errorf("%s can't be created", o.resource)
	}
	ctx, end := o.writer.Begin(ctx, Write{
		Verb: "create", Resource: o.resource, Namespace: obj.GetNamespace(), Cause: d.Cause, Why: d.Why, Quiet: d.Quiet,
	})
	defer end(&err)
	_, err = o.writer.Create(ctx, creater, obj.GetName(), obj)
	return UnlessOvertaken(err)
}

// errAsItIs ends an update that has nothing to change.
var errAsItIs = errors.New("nothing is to be changed")

// Update changes an object, or its subresource sub, unless another object has taken its name. It calls change
// with a copy of the current object, again after each conflict; change reports whether there is anything to
// write.
func (o *Objects[T]) Update(ctx context.Context, seen T, sub string, d Decision, change func(T) (bool, error)) error {
	return o.write(ctx, "update", seen, sub, d, func(_ rest.Storage, now T) (runtime.Object, error) {
		changed, err := change(now)
		if err == nil && !changed {
			err = errAsItIs
		}
		return now, err
	})
}

// Apply makes the controller the owner of exactly the fields of a configuration, like a forced server-side
// apply. The configuration needs no kind and no name.
func (o *Objects[T]) Apply(ctx context.Context, seen T, sub string, d Decision, configuration map[string]any) error {
	return o.write(ctx, "patch", seen, sub, d, func(storage rest.Storage, now T) (runtime.Object, error) {
		fields, err := endpoint.NewFieldManager(scheme.Scheme, o.resource, sub, storage)
		if err != nil {
			return nil, err
		}
		kind, err := endpoint.GetResourceKind(o.resource.GroupVersion(), storage, scheme.Scheme)
		if err != nil {
			return nil, err
		}
		applied := &unstructured.Unstructured{Object: maps.Clone(configuration)}
		applied.SetGroupVersionKind(kind)
		applied.SetName(seen.GetName())
		applied.SetNamespace(seen.GetNamespace())
		next, err := fields.Apply(now, applied, o.writer.Name, true)
		if err == nil {
			next.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // the type says it all
		}
		return next, err
	})
}

func (o *Objects[T]) write(ctx context.Context, verb string, seen T, sub string, d Decision,
	next func(rest.Storage, T) (runtime.Object, error)) (err error) {
	resource := o.resource
	if sub != "" {
		resource.Resource += "/" + sub
	}
	storage := o.Kit.Storage(resource)
	updater, ok := storage.(rest.Updater)
	if !ok {
		return fmt.Errorf("%s can't be updated", resource)
	}
	transform := func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		now, err := builtin.As[T](old)
		if err != nil {
			return nil, err
		}
		if now.GetUID() != seen.GetUID() || d.AsSeen && now.GetResourceVersion() != seen.GetResourceVersion() {
			return nil, errAsItIs
		}
		return next(storage, now.DeepCopyObject().(T))
	}
	ctx, end := o.writer.Begin(ctx, Write{
		Verb: verb, Resource: o.resource, Subresource: sub, Namespace: seen.GetNamespace(), Name: seen.GetName(), Cause: d.Cause,
		Why: d.Why, Quiet: d.Quiet,
	})
	defer end(&err)
	_, err = o.writer.Update(ctx, updater, seen.GetName(), rest.DefaultUpdatedObjectInfo(nil, transform))
	if errors.Is(err, errAsItIs) {
		return nil
	}
	return UnlessOvertaken(err)
}

// Delete deletes an object if it has not changed since it was read. A changed object stays, and its followers
// will receive that change.
func (o *Objects[T]) Delete(ctx context.Context, seen T, policy metav1.DeletionPropagation, d Decision) (err error) {
	deleter, ok := o.Kit.Storage(o.resource).(rest.GracefulDeleter)
	if !ok {
		return fmt.Errorf("%s can't be deleted", o.resource)
	}
	ctx, end := o.writer.Begin(ctx, Write{
		Verb: "delete", Resource: o.resource, Namespace: seen.GetNamespace(), Name: seen.GetName(), Cause: d.Cause, Why: d.Why,
		Quiet: d.Quiet,
	})
	defer end(&err)
	err = o.writer.Delete(ctx, deleter, seen.GetName(), &metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: new(seen.GetUID()), ResourceVersion: new(seen.GetResourceVersion())},
		PropagationPolicy: &policy,
	})
	return UnlessOvertaken(err)
}

// Value decodes the value of a pair, of a built-in resource.
func Value[T builtin.Object](kit *Kit, key string, value []byte) (obj T, err error) {
	key = strings.TrimSuffix(kit.Decoder.Prefix, "/") + "/" + key
	plain, _, err := kit.Decoder.Plain(key, value)
	if err != nil {
		return obj, err
	}
	decoded, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), plain)
	if err != nil {
		return obj, fmt.Errorf("%s: %w", key, err)
	}
	return builtin.As[T](decoded)
}
