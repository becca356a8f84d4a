package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// Get returns one object: encoded if the reader takes that, and nothing here has to look into it.
func (e *Store) Get(ctx context.Context, name string, options *metav1.GetOptions) (obj runtime.Object, err error) {
	key, err := e.KeyFunc(ctx, name)
	if err != nil {
		return nil, err
	}
	ctx, step := trace.Start(ctx, trace.StoreGet, key)
	defer step.End(&err)
	if options.ResourceVersion == "" {
		step.Why(trace.LatestWanted)
	} else {
		step.Text("resourceVersion", options.ResourceVersion)
		step.Why(trace.AtLeastWanted)
	}

	opts := store.GetOptions{ResourceVersion: options.ResourceVersion}
	if e.givesEncoded(ctx) {
		encoded, err := e.Storage.Get(ctx, key, opts, nil)
		if err != nil {
			return nil, InterpretGetError(err, e.qualifiedResourceFromContext(ctx), name)
		}
		if encoded.Readable() == nil {
			return encoded, nil
		}
		// Decoding it below fails with an error that clients understand.
	}
	out := e.NewFunc()
	if _, err := e.Storage.Get(ctx, key, opts, out); err != nil {
		return nil, InterpretGetError(err, e.qualifiedResourceFromContext(ctx), name)
	}
	e.decorate(out)
	return out, nil
}

// givesEncoded says whether the caller gets encoded objects.
func (e *Store) givesEncoded(ctx context.Context) bool {
	return e.Decorator == nil && rest.TakesEncoded(ctx) && e.Storage.keepsEncoded()
}
