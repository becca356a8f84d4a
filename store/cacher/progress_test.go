package cacher

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/cacher/metrics"
)

// TestProgressIsShared: who comes while etcd is being asked waits for its answer, and then for one that is begun after
// they all came.
func TestProgressIsShared(t *testing.T) {
	timeIsUp := make(chan time.Time, 1)
	timeIsUp <- time.Now()
	for name, c := range map[string]struct {
		came, answered, stopped bool
		retry                   <-chan time.Time
		again                   bool
		left                    int // how many signals of waiters are for the next question
	}{
		"one came, and no answer":     {came: true, stopped: true, left: 1},
		"an answer, and nobody came":  {answered: true, stopped: true},
		"one came, and an answer":     {came: true, answered: true, again: true},
		"one came, and no answer yet": {came: true, retry: timeIsUp, again: true, left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			cacher := &Cacher{progress: make(chan struct{}, 1), answered: make(chan struct{}, 1)}
			var cancel context.CancelFunc
			cacher.ctx, cancel = context.WithCancel(t.Context())
			defer cancel()
			if c.came {
				cacher.requestProgress()
				cacher.requestProgress() // another one, who shares
			}
			if c.answered {
				cacher.progressCame()
			}
			if c.stopped {
				cancel()
			}
			if again := cacher.awaitProgress(c.retry); again != c.again || len(cacher.progress) != c.left {
				t.Errorf("%v, and %d are left", again, len(cacher.progress))
			}
		})
	}
}

// TestProgressBesideRules: etcd's answer is known as one while there are rules, which need not be about caches.
func TestProgressBesideRules(t *testing.T) {
	control := trace.NewRecorder("p", trace.DefaultLimits).Control()
	for _, rules := range []int{0, 1} {
		resource := schema.GroupResource{Resource: "pandas"}
		c := &Cacher{
			config: Config{Control: control, GroupResource: resource}, metrics: metrics.New(nil, nil).For(resource),
			answered: make(chan struct{}, 1), watchCache: &watchCache{metrics: metrics.New(nil, nil).For(resource), tree: newTree()},
		}
		c.dispatcher.init(c)
		c.state.init()
		leave := func(err error) { t.Error(err) }
		if err := c.receive(store.Changes{Revision: 7}, leave); err != nil || len(c.answered) != 1 || c.watchCache.revision.Load() != 7 {
			t.Errorf("with %d rules: %v, %d answers, revision %d", rules, err, len(c.answered), c.watchCache.revision.Load())
		}
		if err := control.Add(&trace.Rule{Name: "r", Kind: trace.Breakpoint}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSuggestionOfAnEmptyCache: the step of a write says in words why the cache proposes nothing.
func TestSuggestionOfAnEmptyCache(t *testing.T) {
	c := &Cacher{}
	c.state.init()
	ctx, j := trace.NewRecorder("p", trace.DefaultLimits).Begin(t.Context(), trace.Request{})
	_, step := trace.Start(ctx, steps.CacherUpdate, "/pandas/a")
	if obj := c.suggestion(step, "/pandas/a", nil); obj != nil {
		t.Errorf("it proposes %v", obj)
	}
	step.End(nil)
	j.Finish(trace.Response{Code: 200})
	j.Wait(t.Context())
	if why := j.Record().Steps[0].Why; why != "the cache is uninitialized: the storage reads the object" {
		t.Errorf("%q", why)
	}
}

// versioned is a storage of which only the versioner is used.
type versioned struct{ Storage }

func (versioned) Versioner() store.Versioner { return object.APIObjectVersioner{} }

// TestBookmarkAfterEvents: a watcher that caught up was given an event that is yet to be dispatched. It gets no bookmark
// from before that event.
func TestBookmarkAfterEvents(t *testing.T) {
	resource := schema.GroupResource{Resource: "pandas"}
	c := &Cacher{
		config:  Config{Storage: versioned{}, NewFunc: func() runtime.Object { return &unstructured.Unstructured{Object: map[string]any{}} }},
		metrics: metrics.New(nil, nil).For(resource),
	}
	c.dispatcher.init(c)
	w := c.newCacheWatcher(t.Context(), "/pandas/", store.ListOptions{
		Recursive: true, Predicate: store.SelectionPredicate{Label: labels.Everything(), Field: fields.Everything(), AllowWatchBookmarks: true},
	})
	w.next = 0
	if !c.dispatcher.add(w, nil) || !w.live {
		t.Fatal("the watcher is not live")
	}
	c.dispatcher.revision = 7
	w.gave(8)
	for _, revision := range []int64{7, 8} {
		c.dispatcher.dispatchEvents(nil, revision)
		c.dispatcher.bookmark(time.Now())
		if sent := len(w.result) > 0; sent != (revision == 8) {
			t.Errorf("after an event of revision 8 a bookmark of revision %d was sent: %v", revision, sent)
		}
	}
	w.Stop()
}
