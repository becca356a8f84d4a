package listing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/object"
)

// Document is a list that is to be written.
type Document struct {
	// Empty is what is written if there are no items, and Head is what they are put into; nil is Empty. It has a field called
	// Field, which is [].
	Empty, Head runtime.Object
	Field       string
	Items       object.Items
	Element     ElementFunc
	// ItemsFirst says that in protobuf items are the first field, and metadata is the second.
	ItemsFirst bool
}

// ElementFunc makes of an item what stands in the list for it.
type ElementFunc func(ctx context.Context, item runtime.Object, e *Encoding) (Element, error)

// Element is what stands in a list for an item: both parts together. It is valid until the next one is made.
type Element struct {
	Lead string
	Data []byte
}

// Encoding makes bytes of the objects of one document.
type Encoding struct {
	id     runtime.Identifier
	encode func(runtime.Object, io.Writer) error
	// apiVersion is that of plain JSON; "" for protobuf.
	apiVersion string
	scratch    bytes.Buffer
	// borrowed says that the element is in scratch.
	borrowed bool

	Counts
}

// Counts are how many items there were, of how many of them the bytes were there, and how many were made for this list alone.
type Counts struct{ Items, There, Made int }

// JSON says whether elements are JSON; otherwise they are protobuf.
func (e *Encoding) JSON() bool { return e.apiVersion != "" }

// Bytes are what the encoder writes of an object.
func (e *Encoding) Bytes(obj runtime.Object) ([]byte, error) {
	encoded, ok := obj.(*object.Encoded)
	if !ok {
		e.scratch.Reset()
		e.borrowed = true
		e.Made++
		err := e.encode(obj, &e.scratch)
		return e.scratch.Bytes(), err
	}
	data, there, err := encoded.Form(e.id, e.encode)
	switch {
	case there:
		e.There++
	case encoded.Transient():
		e.Made++
	}
	return data, err
}

// checkEvery is how many items are written before somebody looks whether their reader is still there.
const checkEvery = 16

// elements are what stands in the document.
func (e *Encoding) elements(ctx context.Context, d *Document) iter.Seq2[Element, error] {
	return func(yield func(Element, error) bool) {
		e.Counts = Counts{}
		for item, err := range d.Items(ctx) {
			if e.Items%checkEvery == 0 && err == nil {
				err = ctx.Err()
			}
			var element Element
			if err == nil {
				e.borrowed = false
				element, err = d.Element(ctx, item, e)
			}
			if !yield(element, err) || err != nil {
				return
			}
			e.Items++
		}
	}
}

// newline ends what an encoder writes as JSON.
var newline = []byte("\n")

// Object is the ElementFunc of a list of objects. Those of a typed list don't say of which kind they are.
func Object(typed bool) ElementFunc {
	return func(_ context.Context, item runtime.Object, e *Encoding) (Element, error) {
		element := Element{}
		data, err := e.Bytes(item)
		switch {
		case err != nil:
			return element, err
		case !e.JSON():
			_, element.Data, _, err = object.CutRaw(data)
		case typed:
			element.Lead = "{"
			element.Data, err = object.CutTypeMeta(bytes.TrimSuffix(data, newline))
		default:
			element.Data = bytes.TrimSuffix(data, newline)
		}
		if err != nil {
			return element, fmt.Errorf("write %s as an item of a list: %w", nameOf(item), err)
		}
		return element, nil
	}
}

func nameOf(item runtime.Object) string {
	if encoded, ok := item.(*object.Encoded); ok {
		return encoded.Key()
	}
	return fmt.Sprintf("%T", item)
}

// Metadata is the ElementFunc of a list of metadata in version gv. of makes it of an object whose bytes won't do.
func Metadata(gv schema.GroupVersion, of func(runtime.Object) (runtime.Object, error)) ElementFunc {
	return func(_ context.Context, item runtime.Object, e *Encoding) (Element, error) {
		if encoded, ok := item.(*object.Encoded); ok && e.JSON() {
			if data, ok := encoded.PartialJSON(gv); ok {
				return Element{Data: data}, nil
			}
		}
		partial, err := of(item)
		if err != nil {
			return Element{}, err
		}
		data, err := e.Bytes(partial)
		if err == nil && !e.JSON() {
			_, data, _, err = object.CutRaw(data)
		}
		return Element{Data: bytes.TrimSuffix(data, newline)}, err
	}
}
