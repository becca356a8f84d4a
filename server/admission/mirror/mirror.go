package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/store/admin"
)

// Keeper keeps the objects of several resources.
type Keeper struct {
	decoder *admin.Decoder
	log     *slog.Logger
	feeds   map[string]*feed.Feed
	missing atomic.Int32
	known   chan struct{}
}

// New creates a keeper. It does nothing until Run.
func New(etcd *admin.Live, decoder *admin.Decoder, log *slog.Logger) *Keeper {
	k := &Keeper{decoder: decoder, log: log, feeds: map[string]*feed.Feed{}, known: make(chan struct{})}
	for _, part := range parts {
		k.feeds[part] = feed.New(etcd, decoder, log).Only(part)
	}
	return k
}

// parts lists the prefixes of the resources' keys; each has a feed.
var parts = []string{"mutating", "validating"}

// Ready returns an error until the objects are known.
func (k *Keeper) Ready(context.Context) error {
	select {
	case <-k.known:
		return nil
	default:
		return errors.New("the configurations of admission have not been read yet")
	}
}

// KnownWait limits how long a write waits for the objects. They are unknown only while a server starts.
const KnownWait = 10 * time.Second

// Await waits until the objects are known. If that takes too long, the error is the answer to the write.
func (k *Keeper) Await(ctx context.Context, a admission.Attributes) error {
	select {
	case <-k.known:
		return nil
	default:
	}
	ready := time.NewTimer(KnownWait)
	defer ready.Stop()
	select {
	case <-k.known:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-ready.C:
		return admission.NewForbidden(a, errors.New("not yet ready to handle request"))
	}
}

// Readable returns nil if keys is empty. The keys belong to unreadable objects: their rules are unknown, so the
// write is refused.
func Readable(a admission.Attributes, keys []string) error {
	switch len(keys) {
	case 0:
		return nil
	case 1:
		return admission.NewForbidden(a, fmt.Errorf("not yet ready to handle request: %s can't be read", escape.Line(keys[0])))
	}
	return admission.NewForbidden(a,
		fmt.Errorf("not yet ready to handle request: %s and %d more can't be read", escape.Line(keys[0]), len(keys)-1))
}

// Run follows etcd until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	if k.missing.Load() == 0 {
		close(k.known)
		return
	}
	for _, from := range k.feeds {
		running.Go(func() { from.Run(ctx) })
	}
}

// Follow calls tell with all objects of a resource whenever they change. unreadable has the sorted keys of
// those that can't be read and never could. Follow must not be called after Run. An unchanged object stays the
// same pointer. tell may not change the objects; one goroutine calls it.
func Follow[T builtin.Object](k *Keeper, resource schema.GroupResource, tell func(all []T, unreadable []string)) error {
	codec, err := scheme.StorageCodec(resource, runtime.ContentTypeProtobuf)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if len(resource.Resource) > len(part) && resource.Resource[:len(part)] == part {
			k.feeds[part].Follow(&follower[T]{keeper: k, resource: resource, codec: codec, tell: tell, objects: map[string]*object[T]{}},
				resource)
			k.missing.Add(1)
		}
	}
	return nil
}

// follower keeps the objects of one resource. One goroutine, that of its feed, uses it.
type follower[T builtin.Object] struct {
	keeper   *Keeper
	resource schema.GroupResource
	codec    runtime.Codec
	tell     func([]T, []string)
	objects  map[string]*object[T]
	// looking is true during a look; looked becomes true when the first one ends.
	looking, looked bool
}

type object[T builtin.Object] struct {
	value T
	bytes string
	// unreadable is the key of an object without a value: it can't be read.
	unreadable string
	// there marks the objects that the present look has found.
	there bool
}

// Begin begins a look.
func (f *follower[T]) Begin() {
	f.looking = true
	for _, o := range f.objects {
		o.there = false
	}
}

// Put takes an object, or its deletion.
func (f *follower[T]) Put(p feed.Pair) {
	_, name := p.Name(f.resource)
	switch before := f.objects[name]; {
	case p.Value == nil:
		delete(f.objects, name)
	case before != nil && before.unreadable == "" && before.bytes == string(p.Value):
		before.there = true
		return
	default:
		value, err := f.read(&p)
		switch {
		case err == nil:
			f.objects[name] = &object[T]{value: value, bytes: string(p.Value), there: true}
		case before != nil && before.unreadable == "":
			f.keeper.log.Error("an object that configures admission cannot be read: it counts as it was", "key", escape.Line(p.Key),
				"error", escape.Line(err.Error()))
			before.there = true
			return
		default:
			f.keeper.log.Error("an object that configures admission cannot be read: writes are refused until it can be, or is deleted",
				"key", escape.Line(p.Key), "error", escape.Line(err.Error()))
			f.objects[name] = &object[T]{unreadable: p.Key, there: true}
		}
	}
	if !f.looking {
		f.all()
	}
}

// End ends a look: objects that it did not find are gone.
func (f *follower[T]) End(int64) {
	f.looking = false
	for name, o := range f.objects {
		if !o.there {
			delete(f.objects, name)
		}
	}
	f.all()
	if !f.looked && f.keeper.missing.Add(-1) == 0 {
		close(f.keeper.known)
	}
	f.looked = true
}

// all passes all objects to tell.
func (f *follower[T]) all() {
	all, unreadable := make([]T, 0, len(f.objects)), []string(nil)
	for _, o := range f.objects {
		if o.unreadable != "" {
			unreadable = append(unreadable, o.unreadable)
			continue
		}
		all = append(all, o.value)
	}
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(a.GetName(), b.GetName()) })
	slices.Sort(unreadable)
	f.tell(all, unreadable)
}

func (f *follower[T]) read(p *feed.Pair) (value T, err error) {
	plain, _, err := f.keeper.decoder.Plain(p.Path, p.Value)
	if err != nil {
		return value, err
	}
	obj, err := runtime.Decode(f.codec, plain)
	if err != nil {
		return value, err
	}
	return builtin.As[T](obj)
}
