package object

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Items are the objects of a list, one after the other. An item is an *Encoded, or a decoded object if it had to be
// converted, which then belongs to the reader. An error ends the sequence. It can be read any number of times with the
// same result. Items are read and converted as they are taken, so the whole list is never in memory.
type Items func(ctx context.Context) iter.Seq2[runtime.Object, error]

// ItemsOf makes Items of objects in memory.
func ItemsOf[T runtime.Object](objects []T) Items {
	return func(context.Context) iter.Seq2[runtime.Object, error] {
		return func(yield func(runtime.Object, error) bool) {
			for _, obj := range objects {
				if !yield(obj, nil) {
					return
				}
			}
		}
	}
}

// Each applies change to each item as it is taken.
func (items Items) Each(change func(ctx context.Context, obj runtime.Object) (runtime.Object, error)) Items {
	return func(ctx context.Context) iter.Seq2[runtime.Object, error] {
		return func(yield func(runtime.Object, error) bool) {
			for obj, err := range items(ctx) {
				if err == nil {
					obj, err = change(ctx, obj)
				}
				if !yield(obj, err) || err != nil {
					return
				}
			}
		}
	}
}

// Failing replaces an error by what tell makes of it.
func (items Items) Failing(tell func(error) error) Items {
	return func(ctx context.Context) iter.Seq2[runtime.Object, error] {
		return func(yield func(runtime.Object, error) bool) {
			for obj, err := range items(ctx) {
				if err != nil {
					err = tell(err)
				}
				if !yield(obj, err) {
					return
				}
			}
		}
	}
}

// Readable reads all items and returns the first error.
func (items Items) Readable(ctx context.Context) error {
	for item, err := range items(ctx) {
		if err != nil {
			return err
		}
		if encoded, ok := item.(*Encoded); ok {
			if err := encoded.Readable(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Into decodes the items into the items of listObj, a pointer to a list. They are the caller's own.
func (items Items) Into(ctx context.Context, listObj runtime.Object) error {
	ptr, err := meta.GetItemsPtr(listObj)
	if err != nil {
		return err
	}
	values, err := conversion.EnforcePtr(ptr)
	if err != nil || values.Kind() != reflect.Slice ||
		!reflect.PointerTo(values.Type().Elem()).Implements(reflect.TypeFor[runtime.Object]()) {
		return fmt.Errorf("decode a list: the items of %T are %T, no slice of objects", listObj, ptr)
	}
	values.Set(reflect.MakeSlice(values.Type(), 0, 0)) // not nil, which would be encoded as null
	for item, err := range items(ctx) {
		if err != nil {
			return err
		}
		n := values.Len()
		values.Grow(1)
		values.SetLen(n + 1)
		if err := fill(values.Index(n), item); err != nil {
			return err
		}
	}
	return nil
}

// fill puts an item into its slot in a slice of objects.
func fill(slot reflect.Value, item runtime.Object) error {
	encoded, ok := item.(*Encoded)
	if ok && !encoded.transient {
		return encoded.Into(slot.Addr().Interface().(runtime.Object))
	}
	item, err := Decode(item)
	if err != nil {
		return err
	}
	value, err := conversion.EnforcePtr(item)
	if err != nil || !value.Type().AssignableTo(slot.Type()) {
		return fmt.Errorf("decode a list: an item is a %T, not a %s", item, slot.Type())
	}
	slot.Set(value)
	return nil
}

// Any says whether there is at least one item.
func (items Items) Any(ctx context.Context) (bool, error) {
	for _, err := range items(ctx) {
		return err == nil, err
	}
	return false, nil
}

// Each calls visit with each item of a list, a List or a decoded one.
func Each(ctx context.Context, list runtime.Object, visit func(runtime.Object) error) error {
	encoded, ok := list.(*List)
	if !ok {
		return meta.EachListItem(list, visit)
	}
	for item, err := range encoded.Items(ctx) {
		if err == nil {
			err = visit(item)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Decode returns an item decoded. The object may be shared: the caller must not change it.
func Decode(item runtime.Object) (runtime.Object, error) {
	if encoded, ok := item.(*Encoded); ok {
		return encoded.Object()
	}
	return item, nil
}

// Own returns an object or a list decoded, for the caller alone.
func Own(ctx context.Context, obj runtime.Object) (runtime.Object, error) {
	switch obj := obj.(type) {
	case *Encoded:
		return obj.Own()
	case *List:
		return obj.Own(ctx)
	}
	return obj, nil
}

// List is a list whose items come one by one. It is a runtime.Object so that a storage can answer with it.
// [List.Object] makes the ordinary list with all items in memory.
type List struct {
	metav1.ListMeta
	Items Items
	// New makes an empty list.
	New func() runtime.Object
}

var _ metav1.ListInterface = &List{}

// Object makes the ordinary list, with all items decoded. The items may be shared: the caller must not change them.
func (l *List) Object(ctx context.Context) (runtime.Object, error) {
	items := []runtime.Object{}
	for item, err := range l.Items(ctx) {
		if err != nil {
			return nil, err
		}
		if item, err = Decode(item); err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	list, err := l.Empty()
	if err != nil {
		return nil, err
	}
	return list, meta.SetList(list, items)
}

// Own makes the ordinary list, for the caller alone.
func (l *List) Own(ctx context.Context) (runtime.Object, error) {
	list, err := l.Empty()
	if err != nil {
		return nil, err
	}
	return list, l.Items.Into(ctx, list)
}

// Empty makes the ordinary list without items, which are [], not null.
func (l *List) Empty() (runtime.Object, error) {
	list := l.New()
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil, fmt.Errorf("make a list: %w", err)
	}
	m.SetResourceVersion(l.ResourceVersion)
	m.SetContinue(l.Continue)
	m.SetRemainingItemCount(l.RemainingItemCount)
	return list, meta.SetList(list, nil)
}

// DeepCopyObject shares the items, since they never change.
func (l *List) DeepCopyObject() runtime.Object {
	out := *l
	return &out
}

// GetObjectKind returns a copy: a kind that is set is lost.
func (l *List) GetObjectKind() schema.ObjectKind {
	kind := &metav1.TypeMeta{}
	kind.SetGroupVersionKind(l.New().GetObjectKind().GroupVersionKind())
	return kind
}
