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

// Document is a list to write.
type Document struct {
	// Empty is written if there are no items. Otherwise the items go into Head, or into Empty if Head is nil. Both have
	// a field called Field, whose value is [].
	Empty, Head runtime.Object
	Field       string
	Items       object.Items
	Element     ElementFunc
	// ItemsFirst is true if in protobuf items are the first field, and metadata is the second.
	ItemsFirst bool
}

// ElementFunc encodes an item as its element of the list.
type ElementFunc func(ctx context.Context, item runtime.Object, e *Encoding) (Element, error)

// Element is an item's encoding in a list: Lead followed by Data. It is valid until the next one is made.
type Element struct {
	Lead string
	Data []byte
}

// Encoding encodes the objects of one document.
type Encoding struct {
	id     runtime.Identifier
	encode func(runtime.Object, io.Writer) error
	// apiVersion is that of plain JSON; "" for protobuf.
	apiVersion string
	scratch    bytes.Buffer
	// borrowed is true if the element is in scratch.
	borrowed bool
	// key is that of the element's object, or "" if it has none.
	key string

	Counts
}

// Counts holds the number of items, of those whose bytes existed already, and of those that were encoded for this list
// alone.
type Counts struct{ Items, There, Made int }

// JSON reports whether elements are JSON; otherwise they are protobuf.
func (e *Encoding) JSON() bool { return e.apiVersion != "" }

// Bytes returns the encoder's bytes of an object.
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

// checkEvery is the number of items after which the writer checks whether the client is still there.
const checkEvery = 16

// elements yields the elements of the document.
func (e *Encoding) elements(ctx context.Context, d *Document) iter.Seq2[Element, error] {
	return func(yield func(Element, error) bool) {
		e.Counts = Counts{}
		for item, err := range d.Items(ctx) {
			if e.Items%checkEvery == 0 && err == nil {
				err = ctx.Err()
			}
			var element Element
			if err == nil {
				e.borrowed, e.key = false, ""
				if encoded, ok := item.(*object.Encoded); ok {
					e.key = encoded.Key()
				}
				element, err = d.Element(ctx, item, e)
			}
			if !yield(element, err) || err != nil {
				return
			}
			e.Items++
		}
	}
}

// newline ends JSON that an encoder writes.
var newline = []byte("\n")

// Object is the ElementFunc of a list of objects. Objects in a typed list omit their kind.
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

// Metadata is the ElementFunc of a list of metadata in version gv. It calls of for an object whose stored bytes can't
// be used.
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
