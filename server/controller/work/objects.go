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

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/endpoint"
)

// Objects are those of one built-in resource, as a controller reads and writes them. Where the resource is not served
// there are none.
type Objects[T builtin.Object] struct {
	// Kit is what the controller was made with.
	Kit      *Kit
	writer   *Writer
	resource schema.GroupVersionResource
}

// ObjectsOf returns the objects of a resource, for a writer.
func ObjectsOf[T builtin.Object](kit *Kit, writer *Writer, resource schema.GroupVersionResource) *Objects[T] {
	return &Objects[T]{Kit: kit, writer: writer, resource: resource}
}

// Decision is why something is written.
type Decision struct {
	// Cause is the revision that gave cause to it, 0 if none is known.
	Cause int64
	// Why tells the first step of the write what was decided.
	Why func(*trace.Step)
	// Quiet leaves no journey of the write.
	Quiet bool
	// AsSeen has an object stay as it is if it has changed since it was seen: whoever follows it is told of that
	// change.
	AsSeen bool
}

// Decide makes a decision of a reason that needs no values.
func Decide(cause int64, reason trace.Reason) Decision {
	return Decision{Cause: cause, Why: func(step *trace.Step) { step.Why(reason) }}
}

// Get returns an object as it is now. It may be shared: the caller must not change it.
func (o *Objects[T]) Get(ctx context.Context, namespace, name string) (obj T, found bool, err error) {
	return o.get(ctx, namespace, name, &metav1.GetOptions{})
}

// Cached is Get of an object as some cache has it, which may be a moment behind.
func (o *Objects[T]) Cached(ctx context.Context, namespace, name string) (obj T, found bool, err error) {
	return o.get(ctx, namespace, name, &metav1.GetOptions{ResourceVersion: "0"})
}

func (o *Objects[T]) get(ctx context.Context, namespace, name string, options *metav1.GetOptions) (obj T, found bool, err error) {
	getter, ok := o.Kit.Storages()[o.resource].(rest.Getter)
	if !ok {
		return obj, false, nil
	}
	got, err := getter.Get(o.writer.Reads(ctx, "get", o.resource, namespace, name), name, options)
	if apierrors.IsNotFound(err) {
		return obj, false, nil
	}
	if err == nil {
		obj, err = builtin.As[T](got)
	}
	return obj, err == nil, err
}

// List returns the objects of a namespace, or all of them if it is empty. It fails if one of them can't be read. They
// may be shared.
func (o *Objects[T]) List(ctx context.Context, namespace string) (all []T, err error) {
	lister, ok := o.Kit.Storages()[o.resource].(rest.Lister)
	if !ok {
		return nil, nil
	}
	ctx = o.writer.Reads(ctx, "list", o.resource, namespace, "")
	list, err := lister.List(ctx, &metainternalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	return all, object.Each(ctx, list, func(item runtime.Object) error {
		obj, err := builtin.As[T](item)
		all = append(all, obj)
		return err
	})
}

// Readable is List without the objects that can't be read.
func (o *Objects[T]) Readable(ctx context.Context, namespace string) (all []T, err error) {
	lister, ok := o.Kit.Storages()[o.resource].(rest.Lister)
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

// Create creates an object, unless there is one of its name.
func (o *Objects[T]) Create(ctx context.Context, obj T, d Decision) (err error) {
	creater, ok := o.Kit.Storages()[o.resource].(rest.Creater)
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

// errAsItIs ends an update that is not needed.
var errAsItIs = errors.New("nothing is to be changed")

// Update changes an object, or a subresource of it if sub is not empty, unless it has been replaced by another one of
// that name. change is given a copy of what is there now, again after each conflict, and says whether anything is to be
// written.
func (o *Objects[T]) Update(ctx context.Context, seen T, sub string, d Decision, change func(T) (bool, error)) error {
	return o.write(ctx, "update", seen, sub, d, func(_ rest.Storage, now T) (runtime.Object, error) {
		changed, err := change(now)
		if err == nil && !changed {
			err = errAsItIs
		}
		return now, err
	})
}

// Apply has the controller own the fields of a configuration and no others, as server-side apply does by force. The
// configuration needs no kind and no name.
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
	storage := o.Kit.Storages()[resource]
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

// Delete deletes an object if it is as it was seen. One that has changed meanwhile stays, and whoever follows it is
// told of that.
func (o *Objects[T]) Delete(ctx context.Context, seen T, policy metav1.DeletionPropagation, d Decision) (err error) {
	deleter, ok := o.Kit.Storages()[o.resource].(rest.GracefulDeleter)
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

// Value decodes what a pair has of a built-in resource.
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
