package customresource

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/server/crd/conversion"
	"github.com/kx-apiserver/kx/server/crd/schema"
)

// codec encodes objects for etcd. It writes JSON with sorted keys and a newline at its end, always in the
// storage version. It reads that and CBOR, which a Kubernetes API server may have written, in all versions of
// the CRD. It prunes and defaults a decoded object by the schema of its stored version.
type codec struct {
	defaulter defaulter
	// version is the storage version.
	version apischema.GroupVersion
	// converter converts objects stored in another version to the storage version. It is nil if views do that,
	// which convert a list at once.
	converter *conversion.Converter
}

var _ runtime.Codec = &codec{}

// cborPrefix is the prefix of all CBOR objects, and of no JSON.
var cborPrefix = []byte{0xd9, 0xd9, 0xf7}

var cborDecoder = cbor.NewSerializer(creater{}, typer{})

func (c *codec) Identifier() runtime.Identifier {
	return runtime.Identifier("custom resource in " + c.version.String())
}

// Encode writes the stored form of an object. It prunes the object first: admission may have added anything.
func (c *codec) Encode(obj runtime.Object, w io.Writer) error {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("encode a custom resource: %T is none", obj)
	}
	if got := u.GetAPIVersion(); got != c.version.String() {
		return fmt.Errorf("encode a custom resource: it is stored as %s, and came as %s", c.version, got)
	}
	if _, err := c.defaulter.schemas[c.version.Version].Prune(context.Background(), u.Object, schema.PruneOptions{}); err != nil {
		return err
	}
	return object.WriteJSON(w, u.Object)
}

// IsFinal reports whether decoding the output of Encode returns the same object.
func (c *codec) IsFinal(obj runtime.Object) bool {
	u, ok := obj.(*unstructured.Unstructured)
	return ok && c.defaulter.schemas[c.version.Version].IsFinal(u.Object)
}

// Decode fills into, or a new object if into is nil. It ignores the apiVersion and kind of into.
func (c *codec) Decode(data []byte, _ *apischema.GroupVersionKind,
	into runtime.Object) (runtime.Object, *apischema.GroupVersionKind, error) {
	u, ok := into.(*unstructured.Unstructured)
	if into != nil && !ok {
		return nil, nil, fmt.Errorf("decode a custom resource: %T is none", into)
	}
	if u == nil {
		u = &unstructured.Unstructured{}
	}
	content, err := parse(data)
	if err != nil {
		return nil, nil, err
	}
	u.Object = content
	kind := u.GroupVersionKind()
	if kind.Kind == "" {
		return nil, &kind, runtime.NewMissingKindErr("stored custom resource")
	}
	s := c.defaulter.schemas[kind.Version]
	if s == nil || kind.Group != c.version.Group {
		return nil, &kind, fmt.Errorf("request to convert CR from an invalid group/version: %s", kind.GroupVersion())
	}
	if _, err := s.Prune(context.Background(), content, schema.PruneOptions{Stored: true}); err != nil {
		return nil, &kind, err
	}
	if kind.Kind == c.defaulter.kind.Kind {
		if err := s.DefaultStored(context.Background(), content); err != nil {
			return nil, &kind, err
		}
	}
	if c.converter != nil && kind.Version != c.version.Version {
		if err := c.toStorageVersion(u); err != nil {
			return nil, &kind, err
		}
	}
	return u, &kind, nil
}

// toStorageVersion converts an object whose version is missing in the CRD's storedVersions: a client removed
// the version before all objects were written again.
func (c *codec) toStorageVersion(u *unstructured.Unstructured) error {
	converted, err := c.converter.Convert(context.Background(), u, c.version)
	if err != nil {
		return err
	}
	u.Object = converted.(*unstructured.Unstructured).Object
	_, err = c.defaulter.schemas[c.version.Version].Prune(context.Background(), u.Object, schema.PruneOptions{})
	return err
}

func parse(data []byte) (map[string]any, error) {
	if bytes.HasPrefix(data, cborPrefix) {
		u := &unstructured.Unstructured{}
		_, _, err := cborDecoder.Decode(data, nil, u)
		return u.Object, err
	}
	var content map[string]any
	if err := json.Unmarshal(data, &content); err != nil {
		return nil, err
	}
	return content, nil
}
