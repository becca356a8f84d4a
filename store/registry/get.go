package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// Get implements rest.Getter.
func (e *Store) Get(ctx context.Context, name string, options *metav1.GetOptions) (obj runtime.Object, err error) {
	key, err := e.KeyFunc(ctx, name)
	if err != nil {
		return nil, err
	}
	ctx, step := trace.Start(ctx, trace.StoreGet, key)
	defer step.End(&err)
	if options.ResourceVersion == "" {
		step.Why("resourceVersion unset: the latest state is wanted")
	} else {
		step.Text("resourceVersion", options.ResourceVersion)
		step.Why("resourceVersion set: a state at least that new will do")
	}

	out := e.NewFunc()
	if err := e.Storage.Get(ctx, key, store.GetOptions{ResourceVersion: options.ResourceVersion}, out); err != nil {
		return nil, InterpretGetError(err, e.qualifiedResourceFromContext(ctx), name)
	}
	e.decorate(out)
	return out, nil
}
