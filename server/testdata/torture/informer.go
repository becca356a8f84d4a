//go:build linux

package torture

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/kx-apiserver/kx/server/testdata/torture/history"
)

// backOffMost is longer than client-go's reflectors wait after a failure.
const backOffMost = 3 * time.Minute

// informer is client-go's own, as operators use it: in the end it must know what etcd has, and what it told its handler on
// the way must never go back.
type informer struct {
	kind   kind
	shared cache.SharedIndexInformer

	mu   sync.Mutex
	last map[string]int64
	// back is how often an object was told of as it was before.
	back []string
}

// newInformer informs of all objects of a kind, from one server.
func newInformer(s *server, k kind) (*informer, error) {
	i := &informer{kind: k, last: map[string]int64{}}
	i.shared = dynamicinformer.NewFilteredDynamicSharedInformerFactory(s.dynamic, 0, "", nil).ForResource(k.resource).Informer()
	// It logs each watch that ends.
	if err := i.shared.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {}); err != nil {
		return nil, err
	}
	_, err := i.shared.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { i.told(obj) },
		UpdateFunc: func(_, obj any) { i.told(obj) },
	})
	return i, err
}

// told notes a version of an object.
func (i *informer) told(obj any) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	revision, _ := strconv.ParseInt(m.GetResourceVersion(), 10, 64)
	i.mu.Lock()
	defer i.mu.Unlock()
	key := i.kind.key(m.GetNamespace(), m.GetName())
	if revision < i.last[key] {
		i.back = append(i.back, fmt.Sprintf("an informer of %s was told of %s at %d after %d", i.kind.name, key, revision, i.last[key]))
	}
	i.last[key] = revision
}

// knows is an error unless it has exactly some objects.
func (i *informer) knows(want map[string]history.Object) error {
	got := map[string]history.Object{}
	for _, obj := range i.shared.GetStore().List() {
		o, err := i.kind.seen(obj.(*unstructured.Unstructured))
		if err != nil {
			return err
		}
		got[o.Key] = o
	}
	if maps.Equal(got, want) {
		return nil
	}
	for key, o := range want {
		if got[key] != o {
			return fmt.Errorf("an informer of %s has %+v, etcd has %+v", i.kind.name, got[key], o)
		}
	}
	return fmt.Errorf("an informer of %s has %d objects, etcd has %d", i.kind.name, len(got), len(want))
}

// settle waits until an informer knows what etcd has.
func (i *informer) settle(ctx context.Context, w *world) error {
	all, _, err := w.witness.read(ctx)
	if err != nil {
		return err
	}
	maps.DeleteFunc(all, func(key string, _ history.Object) bool { return !i.kind.has(key) })
	if err := withinTime(ctx, backOffMost, "an informer catches up", func(context.Context) error { return i.knows(all) }); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, fault := range i.back {
		w.round.fail("%s", fault)
	}
	return nil
}
