package object

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// List is a list of encoded objects. As a runtime.Object it stands for the list that New makes, with the objects as its
// items, for encoders: JSON and protobuf are written item by item out of the bytes that the items have, and are, byte for
// byte, what the encoder would have written. Whoever wants to look into the list asks for [List.Object].
type List struct {
	metav1.ListMeta
	Items []*Encoded
	// New makes an empty list.
	New func() runtime.Object
}

var (
	_ runtime.CacheableObject = &List{}
	_ metav1.ListInterface    = &List{}
)

// Object is the list, decoded. The items are everybody's: nobody may change them.
func (l *List) Object() (runtime.Object, error) {
	items := make([]runtime.Object, len(l.Items))
	for i, item := range l.Items {
		var err error
		if items[i], err = item.Object(); err != nil {
			return nil, err
		}
	}
	list, err := l.empty()
	if err != nil {
		return nil, err
	}
	return list, meta.SetList(list, items)
}

// empty is the list without its items. They are [], not null.
func (l *List) empty() (runtime.Object, error) {
	list := l.New()
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil, fmt.Errorf("make a list: %w", err)
	}
	m.SetResourceVersion(l.ResourceVersion)
	m.SetContinue(l.Continue)
	m.SetRemainingItemCount(l.RemainingItemCount)
	return list, meta.SetList(list, nil)
}

// GetObject implements runtime.CacheableObject: a copy of the list, which is the caller's. One that can't be read is nil.
func (l *List) GetObject() runtime.Object {
	list, err := l.Object()
	if err != nil {
		return nil
	}
	return list.DeepCopyObject()
}

// DeepCopyObject implements runtime.Object. It does not copy the items, for nothing in them changes.
func (l *List) DeepCopyObject() runtime.Object {
	out := *l
	return &out
}

// GetObjectKind implements runtime.Object. What is written into it is lost.
func (l *List) GetObjectKind() schema.ObjectKind {
	kind := &metav1.TypeMeta{}
	kind.SetGroupVersionKind(l.New().GetObjectKind().GroupVersionKind())
	return kind
}

// CacheEncode implements runtime.CacheableObject.
func (l *List) CacheEncode(id runtime.Identifier, encode func(runtime.Object, io.Writer) error, w io.Writer) error {
	switch e := encodingOf(id); e.form {
	case formJSON:
		return l.writeJSON(id, e.version, encode, w)
	case formProtobuf:
		return l.writeProtobuf(id, encode, w)
	}
	list, err := l.Object()
	if err != nil {
		return err
	}
	return encode(list, w)
}

// encodeEmpty is what the encoder writes of the list without items.
func (l *List) encodeEmpty(encode func(runtime.Object, io.Writer) error) ([]byte, error) {
	list, err := l.empty()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = encode(list, &out)
	return out.Bytes(), err
}

// noItems is where a list has its items in JSON. It can't occur elsewhere: in a string its quotes would be escaped.
var noItems = []byte(`"items":[]`)

func (l *List) writeJSON(id runtime.Identifier, version string, encode func(runtime.Object, io.Writer) error, w io.Writer) error {
	envelope, err := l.encodeEmpty(encode)
	if err != nil {
		return err
	}
	at := bytes.Index(envelope, noItems)
	if at < 0 {
		return fmt.Errorf("write a list: %T without items is %q", l.New(), envelope)
	}
	at += len(noItems) - len("]")
	_, untyped := l.New().(*unstructured.UnstructuredList)
	out := newChunks(w)
	defer out.release()
	out.write(envelope[:at])
	for i, item := range l.Items {
		data, err := item.json(id, version, encode)
		if err != nil {
			return err
		}
		data = bytes.TrimSuffix(data, newline)
		if i > 0 {
			out.write(comma)
		}
		if !untyped {
			// Items of typed lists don't say of which kind they are.
			if data, err = cutTypeMeta(data); err != nil {
				return fmt.Errorf("write %s as an item of a list: %w", item.key, err)
			}
			out.write(brace)
		}
		if err := out.write(data); err != nil {
			return err
		}
	}
	out.write(envelope[at:])
	return out.flush()
}

var newline, comma, brace = []byte("\n"), []byte(","), []byte("{")

// json is the object as the encoder called id writes it, which writes JSON in a version.
func (e *Encoded) json(id runtime.Identifier, version string, encode func(runtime.Object, io.Writer) error) ([]byte, error) {
	if data, apiVersion, ok := e.JSON(); ok && apiVersion == version {
		return data, nil
	}
	return e.form(id, encode)
}

// cutTypeMeta takes the brace, the kind and the apiVersion away, with which the JSON of every typed object begins.
func cutTypeMeta(data []byte) ([]byte, error) {
	rest := data
	for _, field := range []string{`{"kind":"`, `"apiVersion":"`} {
		var ok bool
		if rest, ok = bytes.CutPrefix(rest, []byte(field)); !ok {
			return nil, fmt.Errorf("it does not begin with its kind and apiVersion: %.60q", data)
		}
		if _, rest, ok = bytes.Cut(rest, []byte(`",`)); !ok {
			return nil, fmt.Errorf("it has nothing but its kind and apiVersion: %.60q", data)
		}
	}
	return rest, nil
}

// chunks collects what is written and passes it on in large pieces: each is a record of TLS or several, and not a part of one.
type chunks struct {
	w   io.Writer
	buf []byte
	err error
}

// chunkBytes is how much is passed on at once.
const chunkBytes = 256 << 10

var chunkPool = sync.Pool{New: func() any {
	buf := make([]byte, 0, chunkBytes)
	return &buf
}}

func newChunks(w io.Writer) *chunks {
	return &chunks{w: w, buf: *chunkPool.Get().(*[]byte)}
}

func (c *chunks) write(p []byte) error {
	for len(p) > 0 && c.err == nil {
		n := copy(c.buf[len(c.buf):cap(c.buf)], p)
		c.buf, p = c.buf[:len(c.buf)+n], p[n:]
		if len(c.buf) == cap(c.buf) {
			c.flush()
		}
	}
	return c.err
}

func (c *chunks) flush() error {
	if c.err == nil && len(c.buf) > 0 {
		_, c.err = c.w.Write(c.buf)
		c.buf = c.buf[:0]
	}
	return c.err
}

func (c *chunks) release() {
	c.buf = c.buf[:0]
	chunkPool.Put(&c.buf)
}
