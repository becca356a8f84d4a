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

// Format says how the objects of one resource are stored. All objects of the resource share it.
type Format struct {
	// New makes an empty object.
	New func() runtime.Object
	// KeyPrefix is the length of the prefix that the storage puts before its callers' keys.
	KeyPrefix int
	// Decode decodes data, read at a revision, into an object. Errors name the key. final says that decoding added,
	// removed and converted nothing. It is found out only if wantFinal asks, because that may cost time.
	Decode func(key string, data []byte, into runtime.Object, revision int64, wantFinal bool) (final bool, err error)
	// Forms keep the bytes that encoders write. If it is nil, they live until the next garbage collection.
	Forms *Forms

	// jsonVersions has, for each encoder used so far, the version in which it writes plain JSON, or "".
	jsonVersions sync.Map // runtime.Identifier → string
}

// Encoded is one object at one revision: its stored bytes, and decoded or encoded forms that are made on demand. The
// results of its methods never change, and goroutines may share it.
//
// It is a runtime.Object so that encoders take it: they reuse bytes that were written before in the same format and
// version. [Encoded.Object] is the decoded object.
type Encoded struct {
	format   *Format
	key      string
	revision int64
	// err is why there are no bytes: they could not be decrypted.
	err error
	// stale says that the value in etcd should be written again, even if the object does not change.
	stale bool
	// read says that the object was decoded without an error.
	read atomic.Bool
	// transient says that the object serves one reader: its forms are not kept.
	transient bool

	bytes atomic.Pointer[payload]
	attrs atomic.Pointer[Attributes]
	forms atomic.Pointer[[]form]

	// mu guards decoded, and is held while a form is made, so that it is made once.
	mu sync.Mutex
	// decoded lives until a garbage collection finds it unused. Most objects are only read as bytes, and a decoded
	// object takes several times as much memory.
	decoded weak.Pointer[plainObject]
}

type plainObject struct{ obj runtime.Object }

// payload is the stored bytes, or the stored bytes with the resourceVersion inserted. Only one of the two is kept.
type payload struct {
	data []byte
	// at and n are the place and length of the insertion; n is 0 if there is none.
	at, n int
	// json says whether data is the JSON that a client gets.
	json jsonState
	// apiVersion is that of the JSON.
	apiVersion string
}

type jsonState uint8

const (
	jsonUnknown jsonState = iota
	jsonNo
	jsonYes
	// jsonFinal: readers get the stored bytes, but it is not known yet whether they are JSON.
	jsonFinal
)

// form is one encoder's output for an object, while Forms keep it.
type form struct {
	id   runtime.Identifier
	data weak.Pointer[formBytes]
}

// maxForms limits the forms of an object. Clients of a resource seldom want more than one.
const maxForms = 4

// NewEncoded returns the object that is stored as data under key, prefix included. data is kept and must not change.
func NewEncoded(format *Format, key string, data []byte, revision int64, stale bool) *Encoded {
	e := &Encoded{format: format, key: key, revision: revision, stale: stale}
	e.bytes.Store(&payload{data: data})
	return e
}

// NewTransient is NewEncoded for an object that serves one reader. That reader also owns the decoded object.
func NewTransient(format *Format, key string, data []byte, revision int64, stale bool) *Encoded {
	e := NewEncoded(format, key, data, revision, stale)
	e.transient = true
	return e
}

// Transient says whether the object serves one reader, so that its forms are not kept.
func (e *Encoded) Transient() bool { return e.transient }

// NewUnreadable returns an object whose stored value can't be decrypted. All reads of it return err.
func NewUnreadable(format *Format, key string, revision int64, err error) *Encoded {
	return &Encoded{format: format, key: key, revision: revision, err: err}
}

// Key is the object's key without the storage's prefix.
func (e *Encoded) Key() string { return e.key[e.format.KeyPrefix:] }

// Revision is the revision of the object's last change, which may be its deletion.
func (e *Encoded) Revision() int64 { return e.revision }

// Stale says whether an update must write the object even if it changes nothing.
func (e *Encoded) Stale() bool { return e.stale }

// Err is why the stored value can't be decrypted, or nil.
func (e *Encoded) Err() error { return e.err }

// Size returns the bytes that the object holds in memory.
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

// At is the same object at another revision, for the event of its deletion.
func (e *Encoded) At(revision int64) *Encoded {
	if e.err != nil {
		return NewUnreadable(e.format, e.key, revision, e.err)
	}
	at := NewEncoded(e.format, e.key, e.Stored(), revision, e.stale)
	at.attrs.Store(e.attrs.Load())
	return at
}

// Stored returns the stored bytes. The caller must not change them.
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

// EqualStored says whether the stored bytes equal data.
func (e *Encoded) EqualStored(data []byte) bool {
	p := e.bytes.Load()
	if p == nil || len(data) != len(p.data)-p.n {
		return false
	}
	return bytes.Equal(data[:p.at], p.data[:p.at]) && bytes.Equal(data[p.at:], p.data[p.at+p.n:])
}

// Into decodes the object into the caller's.
func (e *Encoded) Into(into runtime.Object) error {
	if e.err != nil {
		return e.err
	}
	_, err := e.format.Decode(e.key, e.bytes.Load().data, into, e.revision, false)
	return err
}

// Own is the decoded object, for the caller alone.
func (e *Encoded) Own() (runtime.Object, error) {
	if e.transient {
		return e.Object()
	}
	obj := e.format.New()
	return obj, e.Into(obj)
}

// Object is the decoded object. It is shared: the caller must not change it.
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
	e.decoded = weak.Make(&plainObject{obj})
	e.read.Store(true)
	return obj, nil
}

// Readable returns why the object can't be decrypted or decoded, or nil. It decodes the object once at most.
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

// JSON is the object as JSON in its storage version, with resourceVersion and a final newline, as an encoder writes it.
// ok is false if the object must be decoded and encoded instead: it is not stored as canonical JSON, or decoding
// changes it. The caller must not change data.
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

// learnJSON inserts the resourceVersion if the stored bytes are canonical JSON that decoding does not change.
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

// LearnFinal records that decoding this unstructured object adds, removes and converts nothing, for a caller who found
// out.
func (e *Encoded) LearnFinal() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p := e.bytes.Load(); p != nil && p.json == jsonUnknown {
		next := *p
		next.json = jsonFinal
		e.bytes.Store(&next)
	}
}

// isFinal says whether decoding changes nothing of an unstructured object.
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

// CacheEncode writes the earlier output of the encoder called id, or encodes now.
func (e *Encoded) CacheEncode(id runtime.Identifier, encode func(runtime.Object, io.Writer) error, w io.Writer) error {
	data, _, err := e.Form(id, encode)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// Form returns the output of the encoder called id, and whether it was kept from before. If not, encode writes it.
// The caller must not change data.
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

// Has says whether the form of the encoder called id is kept.
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

// shallowCopy makes a copy whose apiVersion and kind an encoder may set.
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

// GetObject returns a copy of the decoded object, or nil if it can't be read. [Encoded.Object] returns the error.
func (e *Encoded) GetObject() runtime.Object {
	obj, err := e.Object()
	if err != nil {
		return nil
	}
	return obj.DeepCopyObject()
}

// DeepCopyObject returns the object itself, since it never changes.
func (e *Encoded) DeepCopyObject() runtime.Object { return e }

// GetObjectKind returns a copy: a kind that is set is lost.
func (e *Encoded) GetObjectKind() schema.ObjectKind {
	kind := &metav1.TypeMeta{}
	if obj, err := e.Object(); err == nil {
		kind.SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	}
	return kind
}

// GetObjectMeta decodes the object. The caller must not change the metadata.
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
