package object

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"weak"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Format is how the objects of one resource are stored. All of them share one.
type Format struct {
	// New makes an empty object.
	New func() runtime.Object
	// KeyPrefix is how many bytes of a key in the storage come before the key that the storage's callers use.
	KeyPrefix int
	// Decode fills into with the object that data is, at a revision. Errors name the key. final says that nothing was
	// added, removed or converted: it only asks those who asked for it with wantFinal, since to know may cost something.
	Decode func(key string, data []byte, into runtime.Object, revision int64, wantFinal bool) (final bool, err error)
	// Forms hold the bytes that encoders write; without them (nil) the next garbage collection takes these bytes.
	Forms *Forms

	// jsonVersions has, for each encoder that was met, the version in which it writes plain JSON, "" for other encoders.
	jsonVersions sync.Map // runtime.Identifier → string
}

// Encoded is what the storage has of one object at one revision: bytes, and what was made of them since. Nothing that can be
// seen of it ever changes, and any number of goroutines may use it; what it makes, it makes when somebody first asks.
//
// As a runtime.Object it stands for the object that the bytes are, for encoders: they find bytes that were written before
// in the same format and version. Whoever wants to look into the object asks for [Encoded.Object].
type Encoded struct {
	format   *Format
	key      string
	revision int64
	// err is why there are no bytes: they could not be decrypted.
	err error
	// stale says that the value in etcd should be written again, even if the object does not change.
	stale bool
	// read says that somebody has decoded the object: it can be read.
	read atomic.Bool
	// transient says that nobody will find the object again: what is made of it is not kept.
	transient bool

	bytes atomic.Pointer[payload]
	attrs atomic.Pointer[Attributes]
	forms atomic.Pointer[[]form]

	// mu is held while something is made, so that it is made once.
	mu sync.Mutex
	// decoded is the object as long as somebody uses it and until the next garbage collection: most objects are read as
	// bytes only, and decoded ones are several times as large.
	decoded weak.Pointer[decoded]
}

type decoded struct{ obj runtime.Object }

// payload is the stored bytes, once with the resourceVersion in them. They are kept in one form, not in both.
type payload struct {
	data []byte
	// at and n are the place and length of what was added to the stored bytes; n is 0 if nothing was.
	at, n int
	// json says what is known of data as the JSON that a client gets.
	json jsonState
	// apiVersion is that of the JSON.
	apiVersion string
}

type jsonState uint8

const (
	jsonUnknown jsonState = iota
	jsonNo
	jsonYes
	// jsonFinal is not known, but that a reader gets what is stored is.
	jsonFinal
)

// form is an object as an encoder wrote it, as long as that is kept.
type form struct {
	id   runtime.Identifier
	data weak.Pointer[formBytes]
}

// maxForms is how many encoders' bytes are kept of an object. Clients of a resource seldom want more than one.
const maxForms = 4

// NewEncoded returns the object that is stored at key, the storage's own, as data. data is kept and must not change.
func NewEncoded(format *Format, key string, data []byte, revision int64, stale bool) *Encoded {
	e := &Encoded{format: format, key: key, revision: revision, stale: stale}
	e.bytes.Store(&payload{data: data})
	return e
}

// NewTransient is NewEncoded for an object that is read for one reader: nobody keeps it.
func NewTransient(format *Format, key string, data []byte, revision int64, stale bool) *Encoded {
	e := NewEncoded(format, key, data, revision, stale)
	e.transient = true
	return e
}

// Transient says that what is made of the object is not kept.
func (e *Encoded) Transient() bool { return e.transient }

// NewUnreadable returns an object whose value can't be made into bytes. All that asks for them gets err.
func NewUnreadable(format *Format, key string, revision int64, err error) *Encoded {
	return &Encoded{format: format, key: key, revision: revision, err: err}
}

// Key is where the object is stored, as the storage's callers know it.
func (e *Encoded) Key() string { return e.key[e.format.KeyPrefix:] }

// Revision is that of the object's last change; of a deleted object, that of its deletion.
func (e *Encoded) Revision() int64 { return e.revision }

// Stale says that an update should write the object even if it changes nothing.
func (e *Encoded) Stale() bool { return e.stale }

// Err is why the object can't be read, if that is known without decoding it.
func (e *Encoded) Err() error { return e.err }

// Size is how many bytes are kept of it.
func (e *Encoded) Size() int {
	size := 0
	if p := e.bytes.Load(); p != nil {
		size = len(p.data)
	}
	if forms := e.forms.Load(); forms != nil {
		for _, f := range *forms {
			if kept := f.data.Value(); kept != nil {
				size += len(kept.data)
			}
		}
	}
	return size
}

// At is the same object at another revision: as a deletion shows it.
func (e *Encoded) At(revision int64) *Encoded {
	if e.err != nil {
		return NewUnreadable(e.format, e.key, revision, e.err)
	}
	at := NewEncoded(e.format, e.key, e.Stored(), revision, e.stale)
	at.attrs.Store(e.attrs.Load())
	return at
}

// Stored are the bytes as they are stored. The caller must not change them.
func (e *Encoded) Stored() []byte {
	p := e.bytes.Load()
	if p == nil {
		return nil
	}
	if p.n == 0 {
		return p.data
	}
	return append(append(make([]byte, 0, len(p.data)-p.n), p.data[:p.at]...), p.data[p.at+p.n:]...)
}

// EqualStored says whether data is what is stored.
func (e *Encoded) EqualStored(data []byte) bool {
	p := e.bytes.Load()
	if p == nil || len(data) != len(p.data)-p.n {
		return false
	}
	return bytes.Equal(data[:p.at], p.data[:p.at]) && bytes.Equal(data[p.at:], p.data[p.at+p.n:])
}

// Into decodes the object into an object of the caller's.
func (e *Encoded) Into(into runtime.Object) error {
	if e.err != nil {
		return e.err
	}
	_, err := e.format.Decode(e.key, e.bytes.Load().data, into, e.revision, false)
	return err
}

// Object is the object, decoded. It is everybody's: nobody may change it.
func (e *Encoded) Object() (runtime.Object, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.objectLocked()
}

func (e *Encoded) objectLocked() (runtime.Object, error) {
	if e.err != nil {
		return nil, e.err
	}
	if d := e.decoded.Value(); d != nil {
		return d.obj, nil
	}
	obj := e.format.New()
	if err := e.Into(obj); err != nil {
		return nil, err
	}
	e.decoded = weak.Make(&decoded{obj})
	e.read.Store(true)
	return obj, nil
}

// Readable is why the object can't be read, or nil. It is found out once, if nobody has read the object before.
func (e *Encoded) Readable() error {
	if e.read.Load() {
		return nil
	}
	if _, _, ok := e.JSON(); ok {
		return nil
	}
	_, err := e.Object()
	return err
}

// JSON is the object as JSON in its storage version, resourceVersion included, as an encoder would write it: with a newline
// at its end. ok is false if the stored bytes are something else, or not all that a reader gets: then it has to be encoded.
// The caller must not change data.
func (e *Encoded) JSON() (data []byte, apiVersion string, ok bool) {
	p := e.bytes.Load()
	if p == nil {
		return nil, "", false
	}
	if p.json == jsonUnknown || p.json == jsonFinal {
		p = e.learnJSON()
	}
	return p.data, p.apiVersion, p.json == jsonYes
}

// learnJSON finds out whether the stored bytes will do, and puts the resourceVersion into them.
func (e *Encoded) learnJSON() *payload {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.bytes.Load()
	if p.json != jsonUnknown && p.json != jsonFinal {
		return p
	}
	next := *p
	next.json = jsonNo
	if c, ok := readCanonical(p.data); ok && (p.json == jsonFinal || e.isFinal(p.data)) {
		next = splice(p.data, c, e.revision)
	}
	e.bytes.Store(&next)
	return &next
}

// LearnFinal is for a caller who knows, of an unstructured object, that a reader gets what is stored: nothing is added,
// removed or converted when it is decoded.
func (e *Encoded) LearnFinal() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p := e.bytes.Load(); p != nil && p.json == jsonUnknown {
		next := *p
		next.json = jsonFinal
		e.bytes.Store(&next)
	}
}

// isFinal says whether an unstructured object is what its bytes say.
func (e *Encoded) isFinal(data []byte) bool {
	obj := e.format.New()
	if _, ok := obj.(*unstructured.Unstructured); !ok {
		return false
	}
	final, err := e.format.Decode(e.key, data, obj, e.revision, true)
	return err == nil && final
}

func splice(data []byte, c canonical, revision int64) payload {
	added := make([]byte, 0, 48)
	if c.comma == commaBefore {
		added = append(added, ',')
	}
	added = append(added, `"resourceVersion":"`...)
	added = strconv.AppendInt(added, revision, 10)
	added = append(added, '"')
	if c.comma == commaAfter {
		added = append(added, ',')
	}
	out := make([]byte, 0, len(data)+len(added))
	out = append(append(append(out, data[:c.at]...), added...), data[c.at:]...)
	return payload{data: out, at: c.at, n: len(added), json: jsonYes, apiVersion: c.apiVersion}
}

// CacheEncode implements runtime.CacheableObject: it writes the bytes that the encoder called id wrote before, if there
// are any.
func (e *Encoded) CacheEncode(id runtime.Identifier, encode func(runtime.Object, io.Writer) error, w io.Writer) error {
	data, _, err := e.Form(id, encode)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// Form is the object as the encoder called id writes it, and whether it was there before: otherwise encode writes it, and it
// is kept. The caller must not change data.
func (e *Encoded) Form(id runtime.Identifier, encode func(runtime.Object, io.Writer) error) (data []byte, there bool, err error) {
	if gv, ok := e.format.jsonVersionOf(id); ok {
		p := e.bytes.Load()
		known := p != nil && p.json == jsonYes
		if data, apiVersion, ok := e.JSON(); ok && apiVersion == gv {
			return data, known || p.json == jsonFinal, nil
		}
	}
	if data, ok := e.known(id); ok {
		return data, true, nil
	}
	data, err = e.encoded(id, encode)
	return data, false, err
}

func (e *Encoded) encoded(id runtime.Identifier, encode func(runtime.Object, io.Writer) error) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if data, ok := e.known(id); ok {
		return data, nil
	}
	obj, err := e.objectLocked()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if p := e.bytes.Load(); p != nil {
		out.Grow(len(p.data) + len(p.data)/2)
	}
	if err := encode(shallowCopy(obj), &out); err != nil {
		return nil, err
	}
	if e.transient {
		return out.Bytes(), nil
	}
	data := bytes.Clone(out.Bytes())
	e.keep(id, data)
	return data, nil
}

// Has says whether there are the bytes that the encoder called id would write.
func (e *Encoded) Has(id runtime.Identifier) bool {
	if gv, ok := e.format.jsonVersionOf(id); ok {
		p := e.bytes.Load()
		if p != nil && p.json == jsonFinal {
			p = e.learnJSON()
		}
		if p != nil && p.json == jsonYes && p.apiVersion == gv {
			return true
		}
	}
	_, ok := e.known(id)
	return ok
}

func (e *Encoded) known(id runtime.Identifier) ([]byte, bool) {
	if forms := e.forms.Load(); forms != nil {
		for _, f := range *forms {
			if f.id == id {
				kept := f.data.Value()
				if kept == nil {
					return nil, false
				}
				return kept.data, true
			}
		}
	}
	return nil, false
}

// shallowCopy is a copy that an encoder may write apiVersion and kind into.
func shallowCopy(obj runtime.Object) runtime.Object {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		content := make(map[string]any, len(u.Object)+2)
		for k, v := range u.Object {
			content[k] = v
		}
		return &unstructured.Unstructured{Object: content}
	}
	v := reflect.ValueOf(obj)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return obj.DeepCopyObject()
	}
	out := reflect.New(v.Elem().Type())
	out.Elem().Set(v.Elem())
	return out.Interface().(runtime.Object)
}

// GetObject implements runtime.CacheableObject: a copy of the object, which is the caller's. One that can't be read is nil:
// whoever may meet one asks for [Encoded.Object].
func (e *Encoded) GetObject() runtime.Object {
	obj, err := e.Object()
	if err != nil {
		return nil
	}
	return obj.DeepCopyObject()
}

// DeepCopyObject implements runtime.Object. It does not copy, for nothing in it changes.
func (e *Encoded) DeepCopyObject() runtime.Object { return e }

// GetObjectKind implements runtime.Object. What is written into it is lost.
func (e *Encoded) GetObjectKind() schema.ObjectKind {
	kind := &metav1.TypeMeta{}
	if obj, err := e.Object(); err == nil {
		kind.SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	}
	return kind
}

// GetObjectMeta implements metav1.ObjectMetaAccessor, to be read only. It decodes the object.
func (e *Encoded) GetObjectMeta() metav1.Object {
	obj, err := e.Object()
	if err == nil {
		if m, err := meta.Accessor(obj); err == nil {
			return m
		}
	}
	return &metav1.ObjectMeta{ResourceVersion: formatRevision(uint64(e.revision))}
}

// String names the object in messages.
func (e *Encoded) String() string { return fmt.Sprintf("%s at revision %d", e.key, e.revision) }

var (
	_ runtime.CacheableObject   = &Encoded{}
	_ metav1.ObjectMetaAccessor = &Encoded{}
)
