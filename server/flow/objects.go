package flow

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	applyv1 "k8s.io/client-go/applyconfigurations/flowcontrol/v1"
	clientv1 "k8s.io/client-go/kubernetes/typed/flowcontrol/v1"
	listersv1 "k8s.io/client-go/listers/flowcontrol/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/admin"
)

// kept holds the objects of one resource. For the library it is an informer, but it never runs: a feed fills it.
type kept[T builtin.Object] struct {
	cache.SharedIndexInformer
	resource schema.GroupResource
	decoder  *admin.Decoder
	codec    runtime.Codec
	log      *slog.Logger
	feed     *feed.Feed

	handlers []cache.ResourceEventHandler
	synced   atomic.Bool
	// mu guards names: the names of the objects, with false for those that the current pass has not read yet.
	mu    sync.Mutex
	names map[string]bool
}

func newKept[T builtin.Object](resource string, etcd *admin.Live, decoder *admin.Decoder, log *slog.Logger) (*kept[T], error) {
	gr := schema.GroupResource{Group: flowcontrolv1.GroupName, Resource: resource}
	codec, err := scheme.StorageCodec(gr, runtime.ContentTypeProtobuf)
	if err != nil {
		return nil, err
	}
	var none T
	k := &kept[T]{
		SharedIndexInformer: cache.NewSharedIndexInformer(&cache.ListWatch{}, none, 0, cache.Indexers{}),
		resource:            gr, decoder: decoder, codec: codec, log: log, names: map[string]bool{},
		feed: feed.New(etcd, decoder, log).Only(resource),
	}
	k.feed.Follow(k, gr)
	return k, nil
}

// AddEventHandler is called by the library during its construction.
func (k *kept[T]) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	k.handlers = append(k.handlers, h)
	return k.SharedIndexInformer.AddEventHandler(h)
}

// HasSynced reports whether all objects have been read once.
func (k *kept[T]) HasSynced() bool { return k.synced.Load() }

// Begin begins a pass over all objects.
func (k *kept[T]) Begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for n := range k.names {
		k.names[n] = false
	}
}

// Put stores an object, or removes a deleted one.
func (k *kept[T]) Put(p feed.Pair) {
	_, name := p.Name(k.resource)
	if p.Value == nil {
		k.forget(name)
		return
	}
	k.mu.Lock()
	k.names[name] = true
	k.mu.Unlock()
	obj, err := k.read(&p)
	if err != nil {
		k.log.Error("an object of flow control cannot be read: what it said before goes on",
			"key", escape.Line(p.Key), "error", escape.Line(err.Error()))
		return
	}
	k.set(name, obj)
}

func (k *kept[T]) set(name string, obj T) {
	old, there, _ := k.GetIndexer().GetByKey(name)
	if err := k.GetIndexer().Add(obj); err != nil {
		k.log.Error("an object of flow control cannot be kept", "name", escape.Line(name), "error", escape.Line(err.Error()))
		return
	}
	for _, h := range k.handlers {
		if there {
			h.OnUpdate(old, obj)
		} else {
			h.OnAdd(obj, !k.synced.Load())
		}
	}
}

func (k *kept[T]) forget(name string) {
	k.mu.Lock()
	delete(k.names, name)
	k.mu.Unlock()
	old, there, _ := k.GetIndexer().GetByKey(name)
	if !there || k.GetIndexer().Delete(old) != nil {
		return
	}
	for _, h := range k.handlers {
		h.OnDelete(old)
	}
}

// End removes the objects that the pass has not read.
func (k *kept[T]) End(int64) {
	var gone []string
	k.mu.Lock()
	for n, there := range k.names {
		if !there {
			gone = append(gone, n)
		}
	}
	k.mu.Unlock()
	for _, n := range gone {
		k.forget(n)
	}
	k.synced.Store(true)
}

func (k *kept[T]) read(p *feed.Pair) (obj T, err error) {
	plain, _, err := k.decoder.Plain(k.decoder.Prefix+"/"+p.Key, p.Value)
	if err != nil {
		return obj, err
	}
	decoded, err := runtime.Decode(k.codec, plain)
	if err != nil {
		return obj, err
	}
	return builtin.As[T](decoded)
}

// writes carries out the only write that the library makes: the status of a flow schema.
type writes struct {
	clientv1.FlowcontrolV1Interface
	schemas *kept[*flowcontrolv1.FlowSchema]
	objects *work.Objects[*flowcontrolv1.FlowSchema]

	// mu guards life and under. The library gives its writes no context, and does not wait for them when it ends.
	mu    sync.Mutex
	life  context.Context // nil until the control runs
	under sync.WaitGroup
}

// begin allows writes until ctx ends.
func (w *writes) begin(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.life = ctx
}

// end waits for the writes in progress. Their context has ended, so no others follow.
func (w *writes) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.under.Wait()
}

// enter returns the context of a write, or nil if the control does not run. done ends the write.
func (w *writes) enter() (life context.Context, done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.life == nil || w.life.Err() != nil {
		return nil, nil
	}
	w.under.Add(1)
	return w.life, w.under.Done
}

func (w *writes) FlowSchemas() clientv1.FlowSchemaInterface {
	return &statuses{FlowSchemaInterface: w.FlowcontrolV1Interface.FlowSchemas(), writes: w}
}

type statuses struct {
	clientv1.FlowSchemaInterface
	writes *writes
}

// ApplyStatus writes the conditions of a flow schema, and returns the schema in its cached state. After the end of the
// control it writes nothing, and succeeds: otherwise the library would log an error, and try again.
func (s *statuses) ApplyStatus(
	_ context.Context, wanted *applyv1.FlowSchemaApplyConfiguration, _ metav1.ApplyOptions,
) (*flowcontrolv1.FlowSchema, error) {
	seen, err := listersv1.NewFlowSchemaLister(s.writes.schemas.GetIndexer()).Get(*wanted.Name)
	if err != nil {
		return nil, err
	}
	configuration, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return nil, err
	}
	condition := wanted.Status.Conditions[0]
	life, done := s.writes.enter()
	if life == nil {
		return seen, nil
	}
	defer done()
	err = s.writes.objects.Apply(life, seen, "status", work.Decision{
		// The changes that a server makes to its own schemas while it starts are not worth a journey.
		Quiet: seen.Annotations[flowcontrolv1.AutoUpdateAnnotationKey] == "true",
		Why: func(step *trace.Step) {
			if *condition.Status == flowcontrolv1.ConditionTrue {
				step.Why(trace.LevelMissing)
			} else {
				step.Why(trace.LevelThere)
			}
		},
	}, map[string]any{"status": configuration["status"]})
	if life.Err() != nil {
		err = nil
	}
	return seen, err
}
