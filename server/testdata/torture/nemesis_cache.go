//go:build linux

package torture

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// rule is a fault of kx's own: see docs/breakpoints.md.
type rule func(*rand.Rand) v1alpha1.FaultSpec

// aResource is one of those that clients fight for.
func aResource(random *rand.Rand) string {
	return "resource:" + kinds[random.IntN(len(kinds))].resource.Resource
}

func staleCache(random *rand.Rand) v1alpha1.FaultSpec {
	return v1alpha1.FaultSpec{Effect: v1alpha1.FaultStaleCache, Filter: aResource(random)}
}

func dropReflector(random *rand.Rand) v1alpha1.FaultSpec {
	return v1alpha1.FaultSpec{Effect: v1alpha1.FaultDropWatch, Filter: "step:cacher.reflect " + aResource(random), Probability: chance(0.2), Seed: random.Int64()}
}

func dropWatches(random *rand.Rand) v1alpha1.FaultSpec {
	return v1alpha1.FaultSpec{Effect: v1alpha1.FaultDropWatch, Filter: aResource(random), Probability: chance(0.1), Seed: random.Int64()}
}

func timeout(random *rand.Rand) v1alpha1.FaultSpec {
	return v1alpha1.FaultSpec{Effect: v1alpha1.FaultTimeoutAfterCommit, Filter: aResource(random), Probability: chance(0.3), Seed: random.Int64()}
}

func failTxn(random *rand.Rand) v1alpha1.FaultSpec {
	return v1alpha1.FaultSpec{Effect: v1alpha1.FaultFail, Code: 500, Filter: "step:etcd.txn " + aResource(random), Probability: chance(0.3), Seed: random.Int64()}
}

func chance(p float64) *float64 { return &p }

// fault has a server do something wrong for a while.
func fault(r rule) func(context.Context, *world, *rand.Rand) error {
	return func(ctx context.Context, w *world, random *rand.Rand) error {
		return w.faulty(ctx, random, r, func() error { return pause(ctx, moment(random, 3*time.Second)) })
	}
}

// refill has a cache miss what etcd then forgets.
func refill(ctx context.Context, w *world, random *rand.Rand) error {
	return w.faulty(ctx, random, staleCache, func() error {
		if err := pause(ctx, moment(random, 2*time.Second)); err != nil {
			return err
		}
		return compact(ctx, w, random)
	})
}

// faulty does something while a server has a fault. One that is gone or can't be asked has none: its faults are its own.
func (w *world) faulty(ctx context.Context, random *rand.Rand, r rule, during func() error) error {
	s := w.anyone(random)
	f := &v1alpha1.Fault{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Fault"},
		ObjectMeta: metav1.ObjectMeta{Name: "torture"},
		Spec:       r(random),
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	faults := "/apis/" + v1alpha1.SchemeGroupVersion.String() + "/faults"
	ask, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	err = s.typed.Discovery().RESTClient().Post().AbsPath(faults).SetHeader("Content-Type", "application/json").Body(data).Do(ask).Error()
	if _, known := outcome(err); !known {
		return err
	}
	if err := during(); err != nil {
		return err
	}
	return within(ctx, "delete the fault", func(ctx context.Context) error {
		err := s.typed.Discovery().RESTClient().Delete().AbsPath(faults + "/torture").Do(ctx).Error()
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}
