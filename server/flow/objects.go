package flow

import (
	"log/slog"
	"maps"
	"sync"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/store/admin"
)

// follower holds the objects of one resource as a feed has them. mu guards objects and known.
type follower[T builtin.Object] struct {
	resource schema.GroupResource
	decoder  *admin.Decoder
	codec    runtime.Codec
	log      *slog.Logger
	feed     *feed.Feed
	// changed is called after each change.
	changed func()
	// found has the names that the present look has found. Only the feed uses it.
	found map[string]bool

	mu      sync.Mutex
	objects map[string]storedObject[T]
	// known is true once all objects have been read.
	known bool
}

// storedObject is an object as it was read from the bytes in etcd.
type storedObject[T builtin.Object] struct {
	value T
	bytes string
}

func newFollower[T builtin.Object](resource string, c *Config, changed func()) (*follower[T], error) {
	gr := schema.GroupResource{Group: flowcontrolv1.GroupName, Resource: resource}
	codec, err := scheme.StorageCodec(gr, runtime.ContentTypeProtobuf)
	if err != nil {
		return nil, err
	}
	k := &follower[T]{
		resource: gr, decoder: c.Kit.Decoder, codec: codec, log: c.Log, feed: feed.New(c.Kit.Etcd, c.Kit.Decoder, c.Log).Only(resource),
		changed: changed, objects: map[string]storedObject[T]{},
	}
	k.feed.Follow(k, gr)
	return k, nil
}

// all returns the objects, and whether all are known.
func (k *follower[T]) all() (objects []T, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, o := range k.objects {
		objects = append(objects, o.value)
	}
	return objects, k.known
}

// Begin begins a look at all objects.
func (k *follower[T]) Begin() { k.found = map[string]bool{} }

// Put keeps an object, or removes a deleted one.
func (k *follower[T]) Put(p feed.Pair) {
	_, name := p.Name(k.resource)
	if !p.Changed {
		k.found[name] = true
	}
	if p.Value == nil {
		k.change(func() { delete(k.objects, name) })
		return
	}
	if before, ok := k.objects[name]; ok && before.bytes == string(p.Value) { // only the feed writes objects: no lock is needed
		return
	}
	obj, err := k.read(&p)
	if err != nil {
		k.log.Error("an object of flow control cannot be read: what it said before goes on",
			"key", escape.Line(p.Key), "error", escape.Line(err.Error()))
		return
	}
	k.change(func() { k.objects[name] = storedObject[T]{value: obj, bytes: string(p.Value)} })
}

// End removes the objects that the look has not found.
func (k *follower[T]) End(int64) {
	k.change(func() {
		maps.DeleteFunc(k.objects, func(name string, _ storedObject[T]) bool { return !k.found[name] })
		k.known = true
	})
	clear(k.found)
}

func (k *follower[T]) change(do func()) {
	k.mu.Lock()
	do()
	k.mu.Unlock()
	k.changed()
}

func (k *follower[T]) read(p *feed.Pair) (obj T, err error) {
	plain, _, err := k.decoder.Plain(p.Path, p.Value)
	if err != nil {
		return obj, err
	}
	decoded, err := runtime.Decode(k.codec, plain)
	if err != nil {
		return obj, err
	}
	return builtin.As[T](decoded)
}
