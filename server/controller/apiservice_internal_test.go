package controller

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// failingAtFirst is a storage without objects whose first lists fail. It can't be watched, so no change is seen.
type failingAtFirst struct {
	work.ManagedStorage
	left atomic.Int32
}

func (f *failingAtFirst) Destroy() {}

func (f *failingAtFirst) List(context.Context, *metainternalversion.ListOptions) (runtime.Object, error) {
	if f.left.Add(-1) >= 0 {
		return nil, errors.New("etcd has no space")
	}
	return &apiregistrationv1.APIServiceList{}, nil
}

// TestAPIServicesAfterFailures has all attempts fail for a while, and nothing change afterwards.
func TestAPIServicesAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		services := &failingAtFirst{}
		services.left.Store(3)
		kit := &work.Kit{
			Storage:  func(schema.GroupVersionResource) rest.Storage { return services },
			Storages: func() map[schema.GroupVersionResource]rest.Storage { return nil },
			Log:      slog.New(slog.DiscardHandler),
		}
		ctx, stop := context.WithCancel(t.Context())
		var complete atomic.Bool
		var running sync.WaitGroup
		running.Go(func() { keepAPIServices(ctx, kit, &complete) })
		work.Sleep(ctx, work.LongestPause)
		if !complete.Load() {
			t.Error("the API services are not kept after failures")
		}
		stop()
		running.Wait()
	})
}
