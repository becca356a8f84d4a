package handler

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// watchEncoder encodes the events of one watch. It is not safe for concurrent use.
type watchEncoder struct {
	scope  *RequestScope
	format *watchFormat
	target *schema.GroupVersionKind
	// table is nil unless the client asks for tables. Each watch has its own copy, because it changes after the first
	// event.
	table  *metav1.TableOptions
	object runtime.Encoder
}

func newWatchEncoder(scope *RequestScope, mediaType negotiation.MediaTypeOptions, format *watchFormat,
	req *http.Request) (*watchEncoder, error) {
	table, err := optionsForTransform(mediaType, req)
	if err != nil {
		return nil, err
	}
	kind, codecs := targetEncodingForTransform(scope, mediaType)
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), format.objectType)
	if !ok {
		return nil, fmt.Errorf("no encoder for %q exists for %s", format.objectType, kind)
	}
	return &watchEncoder{
		scope:  scope,
		format: format,
		target: mediaType.Convert,
		table:  table,
		object: codecs.EncoderForVersion(info.Serializer, kind.GroupVersion()),
	}, nil
}

// encode adds event to b, in the version and form that the client asked for.
func (e *watchEncoder) encode(ctx context.Context, b *watchBuffers, event watch.Event, framed bool) error {
	obj, err := doTransformObject(ctx, event.Object, e.table, e.target, e.scope)
	if err != nil {
		return err
	}
	if status, ok := obj.(*metav1.Status); ok {
		obj = responsewriters.EscapedStatus(status)
	}
	if e.table != nil {
		e.table.NoHeaders = true // columns are described once
	}
	if encoded, ok := obj.(*object.Encoded); ok {
		var kept keptBytes
		if err := e.object.Encode(encoded, &kept); err != nil {
			return err
		}
		e.format.write(b, framed, string(event.Type), kept, true)
		return nil
	}
	b.encoded.Reset()
	if with, ok := e.object.(runtime.EncoderWithAllocator); ok {
		err = with.EncodeWithAllocator(obj, &b.encoded, &b.allocator)
	} else {
		err = e.object.Encode(obj, &b.encoded)
	}
	if err != nil {
		return fmt.Errorf("unable to encode watch object %T: %w", event.Object, err)
	}
	e.format.write(b, framed, string(event.Type), b.encoded.Bytes(), false)
	return nil
}

// keptBytes keeps the slice that an object.Encoded writes: one piece, which the object keeps and never changes.
type keptBytes []byte

func (k *keptBytes) Write(p []byte) (int, error) {
	*k = p
	return len(p), nil
}
