package listing

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Format writes lists in one media type.
type Format struct {
	// mediaType selects the encoder of the list's parts.
	mediaType string
	write     func(ctx context.Context, out *chunks, e *Encoding, d *Document) error
}

var (
	plainJSON  = Format{runtime.ContentTypeJSON, plainText.write}
	prettyJSON = Format{runtime.ContentTypeJSON, prettyText.write}
	asYAML     = Format{runtime.ContentTypeJSON, yamlText.write}
	protobuf   = Format{runtime.ContentTypeProtobuf, writeProtobuf}
)

// FormatOf returns the format for a media type; pretty applies to JSON only. It returns false for a media type without
// lists.
func FormatOf(mediaType string, pretty bool) (f Format, ok bool) {
	switch {
	case mediaType == runtime.ContentTypeJSON && pretty:
		return prettyJSON, true
	case mediaType == runtime.ContentTypeJSON:
		return plainJSON, true
	case mediaType == runtime.ContentTypeYAML:
		return asYAML, true
	case mediaType == runtime.ContentTypeProtobuf:
		return protobuf, true
	}
	return f, false
}

// Encoder returns the encoder for the parts of lists in version gv.
func (f Format) Encoder(codecs runtime.NegotiatedSerializer, gv schema.GroupVersion) (runtime.Encoder, error) {
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), f.mediaType)
	if !ok {
		return nil, fmt.Errorf("no encoder for %q exists for %s", f.mediaType, gv)
	}
	return codecs.EncoderForVersion(info.Serializer, gv), nil
}

// Write writes d, in version gv, to w.
func (f Format) Write(ctx context.Context, w io.Writer, encoder runtime.Encoder, gv schema.GroupVersion,
	d *Document) (counts Counts, err error) {
	if with, ok := encoder.(runtime.EncoderWithAllocator); ok {
		allocator := runtime.AllocatorPool.Get().(*runtime.Allocator)
		defer runtime.AllocatorPool.Put(allocator)
		encoder = runtime.NewEncoderWithAllocator(with, allocator)
	}
	s := &session{write: func(e *Encoding) error {
		if f.mediaType == runtime.ContentTypeJSON {
			e.apiVersion = gv.String()
		}
		out := newChunks(w)
		defer out.release()
		err := f.write(ctx, out, e, d)
		counts = e.Counts
		if err != nil {
			return err
		}
		return out.flush()
	}}
	err = encoder.Encode(s, w)
	return counts, err
}

// session is an object that an encoder calls back: the encoder passes its identifier and its encode function.
type session struct {
	runtime.Object
	write func(e *Encoding) error
}

var _ runtime.CacheableObject = &session{}

func (s *session) GetObject() runtime.Object { return s }

func (s *session) CacheEncode(id runtime.Identifier, encode func(runtime.Object, io.Writer) error, _ io.Writer) error {
	return s.write(&Encoding{id: id, encode: encode})
}

// whole encodes an object that is not an item.
func (e *Encoding) whole(obj runtime.Object) ([]byte, error) {
	var out bytes.Buffer
	err := e.encode(obj, &out)
	return bytes.TrimSuffix(out.Bytes(), newline), err
}
