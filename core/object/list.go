package object

import (
	"context"
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Items are the objects of a list, one after the other: an *Encoded each, or the reader's own decoded object where somebody
// had to convert it. An error ends them. They may be gone through any number of times, and are the same each time. What
// reads them from etcd or converts them does so as they are taken, so nobody need hold a list.
type Items func(ctx context.Context) iter.Seq2[runtime.Object, error]

// ItemsOf are objects that are at hand.
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

// Each are the items, each changed by change.
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

// Failing are the items, whose errors are told as tell does.
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

// Readable is why an item can't be read, or nil. It goes through all of them.
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

// Any says whether there is an item.
func (items Items) Any(ctx context.Context) (bool, error) {
	for _, err := range items(ctx) {
		return err == nil, err
	}
	return false, nil
}

// Each calls visit with each item of a list, which is a List or any other.
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

// Decoded is an item for who looks into it. An encoded one is everybody's: nobody may change what it stands for.
func Decoded(item runtime.Object) (runtime.Object, error) {
	if encoded, ok := item.(*Encoded); ok {
		return encoded.Object()
	}
	return item, nil
}

// List is a list whose items come one by one. As a runtime.Object it is an answer of a storage; whoever wants the list that
// New makes, with all items in it, asks for [List.Object].
type List struct {
	metav1.ListMeta
	Items Items
	// New makes an empty list.
	New func() runtime.Object
}

var _ metav1.ListInterface = &List{}

// Object is the list with its items, decoded, in memory. The items are everybody's: nobody may change them.
func (l *List) Object(ctx context.Context) (runtime.Object, error) {
	items := []runtime.Object{}
	for item, err := range l.Items(ctx) {
		if err != nil {
			return nil, err
		}
		if item, err = Decoded(item); err != nil {
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

// Empty is the list without its items. They are [], not null.
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

// DeepCopyObject implements runtime.Object. It does not copy the items, for nothing in them changes.
func (l *List) DeepCopyObject() runtime.Object {
	out := *l
	return &out
}

// GetObjectKind implements runtime.Object. What is written into it is lost.
func (l *List) GetObjectKind() schema.ObjectKind {
	kind := &metav1.TypeMeta{}
	kind.SetGroupVersionKind(l.New().GetObjectKind().GroupVersionKind())
	return kind
}
