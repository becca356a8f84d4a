package customresource

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"
	"k8s.io/klog/v2"

	"github.com/kx-apiserver/kx/server/crd/schema"
)

// mediaTypes lists the media types of all custom resources. Protobuf is only for types with a Go type, such as
// Status. The StandardSerializers of a request scope leave it out for objects.
var mediaTypes = []runtime.SerializerInfo{
	{
		MediaType: runtime.ContentTypeJSON, MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true,
		Serializer:       newJSON(json.SerializerOptions{StreamingCollectionsEncoding: true}),
		PrettySerializer: newJSON(json.SerializerOptions{Pretty: true}),
		StrictSerializer: newJSON(json.SerializerOptions{Strict: true, StreamingCollectionsEncoding: true}),
		StreamSerializer: &runtime.StreamSerializerInfo{
			EncodesAsText: true, Serializer: newJSON(json.SerializerOptions{}), Framer: json.Framer,
		},
	},
	{
		MediaType: runtime.ContentTypeYAML, MediaTypeType: "application", MediaTypeSubType: "yaml", EncodesAsText: true,
		Serializer:       newJSON(json.SerializerOptions{Yaml: true}),
		StrictSerializer: newJSON(json.SerializerOptions{Yaml: true, Strict: true}),
	},
	{
		MediaType: runtime.ContentTypeProtobuf, MediaTypeType: "application", MediaTypeSubType: "vnd.kubernetes.protobuf",
		Serializer: protobufSerializer,
		// It refuses objects, as Serializer does. Upstream has no strict serializer here.
		StrictSerializer: protobufSerializer,
		StreamSerializer: &runtime.StreamSerializerInfo{
			Serializer: protobuf.NewRawSerializer(creater{}, typer{}), Framer: protobuf.LengthDelimitedFramer,
		},
	},
}

var protobufSerializer = protobuf.NewSerializerWithOptions(creater{}, typer{},
	protobuf.SerializerOptions{StreamingCollectionsEncoding: true})

func newJSON(options json.SerializerOptions) runtime.Serializer {
	return json.NewSerializerWithOptions(json.DefaultMetaFactory, creater{}, typer{}, options)
}

// serializer reads and writes the bodies of requests for one version.
type serializer struct {
	defaulter defaulter
	// own corrects the metadata of an object of another kind, which validation refuses later.
	own *schema.Schema
}

func (s *serializer) SupportedMediaTypes() []runtime.SerializerInfo { return mediaTypes }

// EncoderForVersion writes objects unchanged: handlers and rest hold them in the version of the request.
func (s *serializer) EncoderForVersion(e runtime.Encoder, gv runtime.GroupVersioner) runtime.Encoder {
	return &encoder{plain: e, typed: versioning.NewDefaultingCodecForScheme(metaScheme, e, nil, gv, nil)}
}

type encoder struct {
	plain runtime.Encoder
	// typed writes objects with a Go type, with the apiVersion and kind of the type.
	typed runtime.Encoder
}

// Identifier distinguishes encoders by version and form, since their output may be cached.
func (e *encoder) Identifier() runtime.Identifier { return e.typed.Identifier() }

func (e *encoder) Encode(obj runtime.Object, w io.Writer) error {
	if cached, ok := obj.(runtime.CacheableObject); ok {
		return cached.CacheEncode(e.Identifier(), e.encode, w)
	}
	return e.encode(obj, w)
}

func (e *encoder) encode(obj runtime.Object, w io.Writer) error {
	if _, ok := obj.(runtime.Unstructured); ok {
		return e.plain.Encode(obj, w)
	}
	return e.typed.Encode(obj, w)
}

// DecoderToVersion reads objects in the version of the body, and prunes and defaults them.
func (s *serializer) DecoderToVersion(d runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	strict, _ := d.(interface{ IsStrict() bool })
	return &decoder{serializer: s, delegate: d, strict: strict != nil && strict.IsStrict(), ctx: context.Background()}
}

// decoder reads one body.
type decoder struct {
	*serializer
	delegate runtime.Decoder
	// strict reports fields that are unknown or come twice.
	strict bool
	ctx    context.Context
}

// WithContext returns the decoder for a request, whose journey shows the pruned and defaulted fields.
func (d *decoder) WithContext(ctx context.Context) runtime.Decoder {
	within := *d
	within.ctx = ctx
	return &within
}

// Decode implements runtime.Decoder. It returns an object even with a strict decoding error.
func (d *decoder) Decode(data []byte, defaults *apischema.GroupVersionKind,
	into runtime.Object) (runtime.Object, *apischema.GroupVersionKind, error) {
	obj, kind, err := d.delegate.Decode(data, defaults, into)
	var strictErrs []error
	if err != nil {
		strict, ok := runtime.AsStrictDecodingError(err)
		if !ok || obj == nil {
			return nil, kind, err
		}
		strictErrs = strict.Errors()
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, kind, err
	}
	// The kind comes from the body, not from the caller's expectation.
	kind = new(u.GroupVersionKind())
	if kind.Kind == "" {
		return nil, kind, runtime.NewMissingKindErr(string(data))
	}
	unknown, err := d.complete(d.ctx, u, kind)
	if err != nil {
		return nil, kind, err
	}
	if strictErrs = append(strictErrs, unknown...); len(strictErrs) > 0 {
		return u, kind, runtime.NewStrictDecodingError(strictErrs)
	}
	return u, kind, nil
}

// DecodeContent is Decode for an object that is already parsed and has a kind.
func (d *decoder) DecodeContent(ctx context.Context, u *unstructured.Unstructured) error {
	kind := u.GroupVersionKind()
	unknown, err := d.complete(ctx, u, &kind)
	if err != nil || len(unknown) == 0 {
		return err
	}
	return runtime.NewStrictDecodingError(unknown)
}

// complete prunes an object of a kind and sets its defaults. If d is strict, unknown lists the dropped fields.
func (d *decoder) complete(ctx context.Context, u *unstructured.Unstructured,
	kind *apischema.GroupVersionKind) (unknown []error, err error) {
	s := d.defaulter.schemas[kind.Version]
	if s == nil || kind.GroupKind() != d.defaulter.kind {
		s = d.own
	}
	paths, err := s.Prune(ctx, u.Object, schema.PruneOptions{UnknownFieldPaths: d.strict})
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		unknown = append(unknown, fmt.Errorf(`unknown field "%s"`, path))
	}
	return unknown, d.defaulter.DefaultWithin(ctx, u)
}

// defaulter sets the defaults of an object by the schema of its version. As a runtime.ObjectDefaulter it can't
// fail: Default skips defaults that exceed the limit, and DefaultWithin returns an error.
type defaulter struct {
	schemas map[string]*schema.Schema
	kind    apischema.GroupKind
}

func (d defaulter) Default(obj runtime.Object) {
	if err := d.DefaultWithin(context.Background(), obj); err != nil {
		klog.V(2).ErrorS(err, "defaults were left out")
	}
}

// DefaultWithin is Default for a request, and fails when a default exceeds the limit.
func (d defaulter) DefaultWithin(ctx context.Context, obj runtime.Object) error {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	if s := d.schemaOf(u); s != nil {
		return s.Default(ctx, u.Object)
	}
	return nil
}

// Complete fails if Default has skipped something and it still exceeds the limit.
func (d defaulter) Complete(ctx context.Context, obj runtime.Object) error {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	if s := d.schemaOf(u); s != nil {
		return s.Complete(ctx, u.Object)
	}
	return nil
}

// schemaOf returns the schema of an object's version, nil if the object is of another kind.
func (d defaulter) schemaOf(u *unstructured.Unstructured) *schema.Schema {
	kind := u.GroupVersionKind()
	if kind.GroupKind() != d.kind {
		return nil
	}
	return d.schemas[kind.Version]
}
