package handler

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/server/handler/listing"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
)

// metadataList returns a list as PartialObjectMetadataList. If possible, it cuts the metadata of an encoded object out
// of the bytes, so that the object need not be decoded.
func metadataList(list *object.List, gv schema.GroupVersion) (*listing.Document, error) {
	if !isMetaVersion(gv) {
		return nil, negotiation.NewNotAcceptableMessage(fmt.Sprintf("no PartialObjectMetadataList exists in group version %s", gv))
	}
	empty, err := makeMetadataList(list, nil, gv)
	if err != nil {
		return nil, err
	}
	return &listing.Document{
		Empty: empty, Field: "items", Items: list.Items,
		ItemsFirst: gv == metav1beta1.SchemeGroupVersion,
		Element:    listing.Metadata(gv, func(item runtime.Object) (runtime.Object, error) { return metadataOf(item, gv) }),
	}, nil
}

// metadataOf returns the metadata of an object, as an object of gv. If possible, it decodes nothing else of an encoded
// object.
func metadataOf(obj runtime.Object, gv schema.GroupVersion) (*metav1.PartialObjectMetadata, error) {
	var partial *metav1.PartialObjectMetadata
	found := false
	if encoded, ok := obj.(*object.Encoded); ok {
		partial, found = encoded.Metadata()
	}
	if !found {
		decoded, err := object.Decode(obj)
		if err != nil {
			return nil, err
		}
		m, err := meta.Accessor(decoded)
		if err != nil {
			return nil, err
		}
		partial = meta.AsPartialObjectMetadata(m)
	}
	partial.SetGroupVersionKind(gv.WithKind("PartialObjectMetadata"))
	return partial, nil
}
