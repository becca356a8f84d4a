package scheme

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
)

// protobufMagic begins every protobuf object on disk and on the wire.
var protobufMagic = []byte("k8s\x00")

// storageVersion returns the version in which a resource is stored. Objects that an API server keeps for itself, such
// as the ranges of addresses, are not in the table: they are stored in their group's first version.
func storageVersion(resource schema.GroupResource) (schema.GroupVersion, error) {
	if version := storedIn[resource]; !version.Empty() {
		return version, nil
	}
	versions := Scheme.PrioritizedVersionsForGroup(resource.Group)
	if len(versions) == 0 {
		return schema.GroupVersion{}, fmt.Errorf("storage codec of %s: no version of group %q is known", resource, resource.Group)
	}
	return versions[0], nil
}

// StorageCodec encodes objects of a resource into its storage version, in mediaType, and decodes every form that a
// Kubernetes API server may have stored: protobuf, JSON or YAML, in any registered version.
func StorageCodec(resource schema.GroupResource, mediaType string) (runtime.Codec, error) {
	version, err := storageVersion(resource)
	if err != nil {
		return nil, err
	}
	if resource.Group == apiregistration.GroupName {
		// Kubernetes' aggregator, a separate server, stores its objects in JSON whatever the flags say.
		mediaType = runtime.ContentTypeJSON
	}
	codec, err := NewStorageCodec(Scheme, Codecs, version, mediaType)
	if err != nil {
		return nil, fmt.Errorf("storage codec of %s: %w", resource, err)
	}
	return codec, nil
}

// NewStorageCodec returns a storage codec that stores objects of another scheme in one version.
func NewStorageCodec(scheme *runtime.Scheme, codecs serializer.CodecFactory, version schema.GroupVersion,
	mediaType string) (runtime.Codec, error) {
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		return nil, fmt.Errorf("no serializer for media type %q: use %s, %s or %s", mediaType,
			runtime.ContentTypeProtobuf, runtime.ContentTypeJSON, runtime.ContentTypeYAML)
	}
	protobuf, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		return nil, errors.New("no protobuf serializer")
	}
	return &storageCodec{
		scheme:     scheme,
		version:    version,
		apiVersion: version.String(),
		text:       info.EncodesAsText,
		encoder:    info.Serializer,
		decoder:    codecs.UniversalDeserializer(),
		protobuf:   protobuf.Serializer,
		identifier: runtime.Identifier("storage:" + version.String() + ":" + info.MediaType),
	}, nil
}

type storageCodec struct {
	scheme     *runtime.Scheme
	version    schema.GroupVersion
	apiVersion string
	text       bool
	encoder    runtime.Encoder
	decoder    runtime.Decoder
	protobuf   runtime.Decoder
	identifier runtime.Identifier
}

func (c *storageCodec) Identifier() runtime.Identifier { return c.identifier }

// Encode writes obj as it is stored.
func (c *storageCodec) Encode(obj runtime.Object, w io.Writer) error {
	obj, kind, err := c.toStorageVersion(obj)
	if err != nil {
		return fmt.Errorf("encode %T for storage: %w", obj, err)
	}
	if m, ok := obj.(runtime.ProtobufMarshaller); ok && !c.text {
		return encodeProtobuf(m, runtime.TypeMeta{APIVersion: c.apiVersion, Kind: kind}, w)
	}
	// The text serializers write the object's own kind, which is empty in storage. So the kind is set in a copy.
	obj = obj.DeepCopyObject()
	obj.GetObjectKind().SetGroupVersionKind(c.version.WithKind(kind))
	return c.encoder.Encode(obj, w)
}

// toStorageVersion converts obj to the storage version, and returns its kind.
func (c *storageCodec) toStorageVersion(obj runtime.Object) (runtime.Object, string, error) {
	kinds, _, err := c.scheme.ObjectKinds(obj)
	if err != nil {
		return obj, "", err
	}
	for _, k := range kinds {
		if k.GroupVersion() == c.version {
			return obj, k.Kind, nil
		}
	}
	converted, err := c.scheme.ConvertToVersion(obj, c.version)
	return converted, kinds[0].Kind, err
}

// encodeProtobuf writes m in the envelope that names its version and kind. The serializer of apimachinery takes the
// kind from the object, which then would have to be modified or copied.
func encodeProtobuf(m runtime.ProtobufMarshaller, typeMeta runtime.TypeMeta, w io.Writer) error {
	unknown := runtime.Unknown{TypeMeta: typeMeta}
	size := m.Size()
	// A field's tag is a byte, and its length takes at most ten.
	limit := len(protobufMagic) + unknown.Size() + 1 + 10 + size

	var data []byte
	buf, ok := w.(*bytes.Buffer)
	if ok {
		buf.Grow(limit)
		data = buf.AvailableBuffer()[:limit]
	} else {
		data = make([]byte, limit)
	}
	copy(data, protobufMagic)
	n, err := unknown.NestedMarshalTo(data[len(protobufMagic):], m, uint64(size))
	if err != nil {
		return err
	}
	_, err = w.Write(data[:len(protobufMagic)+n])
	return err
}

// Decode decodes a stored value. It fills into if that has the Go type of the storage version.
func (c *storageCodec) Decode(data []byte, defaults *schema.GroupVersionKind,
	into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	decoder := c.decoder
	if bytes.HasPrefix(data, protobufMagic) {
		decoder = c.protobuf
	}
	obj, kind, err := decoder.Decode(data, defaults, into)
	if err != nil {
		return nil, kind, err
	}
	c.scheme.Default(obj)
	switch {
	case into != nil && obj != into:
		if err := c.scheme.Convert(obj, into, c.version); err != nil {
			return nil, kind, err
		}
		obj = into
	case into == nil && kind.GroupVersion() != c.version:
		if obj, err = c.scheme.ConvertToVersion(obj, c.version); err != nil {
			return nil, kind, err
		}
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return obj, kind, nil
}
