package customresource

import (
	"context"
	"iter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
)

// batchBytes limits the JSON that is converted at once. The webhook's request and answer, and their objects,
// take several times as much memory.
const batchBytes = 512 << 10

// maxBatchItems limits the objects that are converted at once.
const maxBatchItems = 10000

// convertItems returns items in the version up. The first batch has `first` items, since the reader may stop
// there; 0 means no such limit.
func (v *view) convertItems(items object.Items, first int) object.Items {
	return func(ctx context.Context) iter.Seq2[runtime.Object, error] {
		return func(yield func(runtime.Object, error) bool) {
			b := &batch{view: v, most: maxBatchItems}
			if first > 0 {
				b.most = first
			}
			for item, err := range items(ctx) {
				if err == nil && b.full(item) {
					if !b.flush(ctx, yield) {
						return
					}
					b.most = min(2*b.most, maxBatchItems)
				}
				if err == nil {
					err = b.add(item)
				}
				if err != nil {
					yield(nil, err)
					return
				}
			}
			b.flush(ctx, yield)
		}
	}
}

// batch is a sequence of objects that are converted together.
type batch struct {
	view  *view
	items []runtime.Object
	// others holds the indexes of items in another version.
	others []int
	bytes  int
	most   int
}

// full reports whether the batch must be converted before item is added. Without a webhook, or if nothing needs
// a conversion, a larger batch gains nothing.
func (b *batch) full(item runtime.Object) bool {
	if len(b.items) == 0 {
		return false
	}
	return len(b.others) == 0 || !b.view.converter.ChangesContent() ||
		len(b.items) >= b.most || b.bytes+object.SizeOf(item) > batchBytes
}

func (b *batch) add(item runtime.Object) error {
	apiVersion, err := apiVersionOf(item)
	if err != nil {
		return err
	}
	if apiVersion != b.view.up.String() {
		b.others = append(b.others, len(b.items))
	}
	b.items = append(b.items, item)
	b.bytes += object.SizeOf(item)
	return nil
}

func apiVersionOf(item runtime.Object) (string, error) {
	if encoded, ok := item.(*object.Encoded); ok {
		if _, apiVersion, ok := encoded.JSON(); ok {
			return apiVersion, nil
		}
	}
	decoded, err := object.Decode(item)
	if err != nil {
		return "", err
	}
	u, err := asUnstructured(decoded)
	if err != nil {
		return "", err
	}
	return u.GetAPIVersion(), nil
}

// convert converts the items in other versions with one call of the webhook.
func (b *batch) convert(ctx context.Context) error {
	list := &unstructured.UnstructuredList{Items: make([]unstructured.Unstructured, len(b.others))}
	list.SetGroupVersionKind(b.view.listKind)
	for i, at := range b.others {
		decoded, err := object.Decode(b.items[at])
		if err != nil {
			return err
		}
		u, err := asUnstructured(decoded)
		if err != nil {
			return err
		}
		list.Items[i] = *u
	}
	if err := b.view.convertList(ctx, list); err != nil {
		return err
	}
	for i, at := range b.others {
		b.items[at] = &list.Items[i]
	}
	return nil
}

// flush converts the batch, yields its items and starts another. It returns false if the reader stops.
func (b *batch) flush(ctx context.Context, yield func(runtime.Object, error) bool) bool {
	if len(b.others) > 0 {
		if err := b.convert(ctx); err != nil {
			yield(nil, err)
			return false
		}
	}
	for i, item := range b.items {
		b.items[i] = nil
		if !yield(item, nil) {
			return false
		}
	}
	b.items, b.others, b.bytes = b.items[:0], b.others[:0], 0
	return true
}
