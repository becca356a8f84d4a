package handler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/object"
)

// metadataList is the PartialObjectMetadataList of a list of encoded objects. An encoder of JSON is given each item's
// metadata out of the bytes that the item has, if it has JSON, so that nobody decodes it; other encoders the metadata alone.
type metadataList struct {
	*object.List
	gv schema.GroupVersion
}

var _ runtime.CacheableObject = &metadataList{}

// GetObject implements runtime.CacheableObject. One that can't be read is nil.
func (l *metadataList) GetObject() runtime.Object {
	list, err := makeMetadataList(l.List, l.List, l.gv)
	if err != nil {
		return nil
	}
	return list
}

// noItems is where a list has its items. It can't occur elsewhere: in a string its quotes would be escaped.
var noItems = []byte(`"items":[]`)

// CacheEncode implements runtime.CacheableObject. Nothing is kept, and nothing written if it fails.
func (l *metadataList) CacheEncode(id runtime.Identifier, encode func(runtime.Object, io.Writer) error, w io.Writer) error {
	if !object.WritesJSON(id) {
		list, err := makeMetadataList(l.List, l.List, l.gv)
		if err != nil {
			return err
		}
		return encode(list, w)
	}
	empty, err := makeMetadataList(l.List, nil, l.gv)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := encode(empty, &out); err != nil {
		return err
	}
	at := bytes.Index(out.Bytes(), noItems)
	if at < 0 {
		return fmt.Errorf("write a list of metadata: without items it is %q", out.Bytes())
	}
	at += len(noItems) - len("]")
	end := bytes.Clone(out.Bytes()[at:])
	out.Truncate(at)
	for i, item := range l.Items {
		if i > 0 {
			out.WriteByte(',')
		}
		data, ok := item.PartialJSON(l.gv)
		if !ok {
			if data, err = l.encoded(item); err != nil {
				return err
			}
		}
		out.Write(data)
	}
	out.Write(end)
	_, err = w.Write(out.Bytes())
	return err
}

// encoded is the metadata of an item whose bytes don't do.
func (l *metadataList) encoded(item *object.Encoded) ([]byte, error) {
	partial, err := metadataOf(item, l.gv)
	if err != nil {
		return nil, err
	}
	return json.Marshal(partial)
}

// metadataOf is the metadata of an object, as an object of gv. Of an encoded one nothing else is decoded, if it can be so.
func metadataOf(obj runtime.Object, gv schema.GroupVersion) (*metav1.PartialObjectMetadata, error) {
	var partial *metav1.PartialObjectMetadata
	found := false
	if encoded, ok := obj.(*object.Encoded); ok {
		partial, found = encoded.Metadata()
	}
	if !found {
		m, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		partial = meta.AsPartialObjectMetadata(m)
	}
	partial.SetGroupVersionKind(gv.WithKind("PartialObjectMetadata"))
	return partial, nil
}
