package upstream

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"

	"github.com/kx-apiserver/kx/store/cacher"
)

// newCachedFixture is newFixture with kx's watch cache in front of the store.
func newCachedFixture(t *testing.T, s setup) *fixture {
	s.corruptHandling, s.compactor = true, true
	f := newFixture(t, s)
	c, err := cacher.NewCacherFromConfig(cacher.Config{
		Storage: f.kx.(cacher.Storage), ResourcePrefix: "/pods/", GroupResource: pods,
		NewFunc: func() runtime.Object { return &example.Pod{} }, GetAttrsFunc: podAttrs,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := c.WaitUntilReady(ctx); err != nil {
		t.Fatal(err)
	}
	f.kx = c
	f.Interface = Adapt(f.kx)
	return f
}

func podAttrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	pod := obj.(*example.Pod)
	return pod.Labels, fields.Set{
		"metadata.name": pod.Name, "metadata.namespace": pod.Namespace,
		"spec.nodeName": pod.Spec.NodeName, "spec.restartPolicy": string(pod.Spec.RestartPolicy), "status.phase": string(pod.Status.Phase),
	}, nil
}

// forTheCache are the tests that are called in another way on a watch cache: as upstream's own cacher is.
var forTheCache = map[string]func(ctx context.Context, t *testing.T, f *fixture){
	"List": func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestList(ctx, t, f, f.compact, true, f.client.Kubernetes.(*storagetesting.KubernetesRecorder))
	},
	"ConsistentList": func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestConsistentList(ctx, t, f, f.increaseRV, true, true, true)
	},
	"WatchDispatchBookmarkEvents": func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestWatchDispatchBookmarkEvents(ctx, t, f, true)
	},
	// Pages come from the cache: etcd is not asked for any.
	"ListContinuation": func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestListContinuation(ctx, t, f, readsNothing)
	},
	"ListPaginationRareObject": func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestListPaginationRareObject(ctx, t, f, readsNothing)
	},
	"ListContinuationWithFilter": func(ctx context.Context, t *testing.T, f *fixture) {
		storagetesting.RunTestListContinuationWithFilter(ctx, t, f, readsNothing)
	},
}

func readsNothing(*testing.T, uint64, uint64) {}

// notForACache are upstream's tests that it does not run on its cacher either, and why.
var notForACache = map[string]string{
	"TransformationFailure":             changedBeneath,
	"GetListWithErrorAggregation":       changedBeneath,
	"GetListWithoutErrorAggregation":    changedBeneath,
	"WatchError":                        changedBeneath,
	"WatchWithUnsafeDelete":             changedBeneath,
	"WatchErrorIsBlockingFurtherEvents": changedBeneath,
	"ListInconsistentContinuation":      "a list from revision 0 has no pages in a cache",
	"ProgressNotify":                    "a cache has a clock of its own for bookmarks",
	"WatchFromZero":                     "a compaction is to make etcd forget what the cache still knows",
}

const changedBeneath = "the transformer is changed under the cache, which has read what is stored already"

func TestCached(t *testing.T) {
	for _, test := range suite {
		t.Run(test.name, func(t *testing.T) {
			if why, excused := notForACache[test.name]; excused {
				t.Log(why)
				return
			}
			run := test.run
			if cached := forTheCache[test.name]; cached != nil {
				run = cached
			}
			run(context.Background(), t, newCachedFixture(t, test.setup))
		})
	}
	t.Run("OptionalWatchBookmarksWithCorrectResourceVersion", func(t *testing.T) {
		storagetesting.RunTestOptionalWatchBookmarksWithCorrectResourceVersion(context.Background(), t, newCachedFixture(t, setup{}))
	})
}
