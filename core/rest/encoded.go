package rest

import (
	"context"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// EncodedGetter (optional) is a Getter that has the bytes of its objects.
type EncodedGetter interface {
	// GetEncoded is Get without the decoding. It returns an *object.Encoded, or a decoded object if the storage had to
	// look inside.
	GetEncoded(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error)
}

// EncodedLister (optional) is a Lister that has the bytes of its objects.
type EncodedLister interface {
	// ListEncoded is List without the decoding. It returns an *object.List, or a decoded list if the storage had to
	// look inside.
	ListEncoded(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error)
}

// EncodedWatcher (optional) is a Watcher that has the bytes of its objects.
type EncodedWatcher interface {
	// WatchEncoded is Watch without the decoding: the objects of its events may be *object.Encoded.
	WatchEncoded(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error)
}

// EncodedGet returns how r reads an object without decoding it, or r.Get.
func EncodedGet(r Getter) func(context.Context, string, *metav1.GetOptions) (runtime.Object, error) {
	if encoded, ok := r.(EncodedGetter); ok {
		return encoded.GetEncoded
	}
	return r.Get
}

// EncodedList returns how r lists objects without decoding them, or r.List.
func EncodedList(r Lister) func(context.Context, *metainternalversion.ListOptions) (runtime.Object, error) {
	if encoded, ok := r.(EncodedLister); ok {
		return encoded.ListEncoded
	}
	return r.List
}

// EncodedWatch returns how r watches objects without decoding them, or r.Watch.
func EncodedWatch(r Watcher) func(context.Context, *metainternalversion.ListOptions) (watch.Interface, error) {
	if encoded, ok := r.(EncodedWatcher); ok {
		return encoded.WatchEncoded
	}
	return r.Watch
}

// EncodedTableConvertor is a TableConvertor that also takes encoded objects and lists.
type EncodedTableConvertor interface {
	TableConvertor
	// ConvertsEncoded does nothing. A convertor that has it takes encoded objects.
	ConvertsEncoded()
}
