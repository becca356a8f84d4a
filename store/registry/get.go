package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// Get returns one object, decoded for the caller alone.
func (e *Store) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	obj, err := e.GetEncoded(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return object.Own(ctx, obj)
}

var (
	latestWanted = trace.Because("latest-wanted",
		"resourceVersion unset: the latest state is wanted",
		"没有指定 resourceVersion：要最新状态")
	atLeastWanted = trace.Because("at-least-wanted",
		"resourceVersion set: a state at least that new will do",
		"指定了 resourceVersion：不旧于它的状态即可")
)

// GetEncoded returns one object: encoded, unless the Store has to look into it.
func (e *Store) GetEncoded(ctx context.Context, name string, options *metav1.GetOptions) (obj runtime.Object, err error) {
	key, err := e.KeyFunc(ctx, name)
	if err != nil {
		return nil, err
	}
	ctx, step := trace.Start(ctx, steps.StoreGet, key)
	defer step.End(&err)
	if options.ResourceVersion == "" {
		step.Why(latestWanted)
	} else {
		step.Text("resourceVersion", options.ResourceVersion)
		step.Why(atLeastWanted)
	}
	e.noteDecorator(step)

	opts := store.GetOptions{ResourceVersion: options.ResourceVersion}
	if e.keepsEncoded() {
		encoded, err := e.Storage.Get(ctx, key, opts, nil)
		if err != nil {
			return nil, InterpretGetError(ctx, err, e.qualifiedResourceFromContext(ctx), name)
		}
		if encoded.Readable() == nil {
			return encoded, nil
		}
		// Decoding it below fails with an error that clients understand.
	}
	out := e.NewFunc()
	if _, err := e.Storage.Get(ctx, key, opts, out); err != nil {
		return nil, InterpretGetError(ctx, err, e.qualifiedResourceFromContext(ctx), name)
	}
	e.decorate(ctx, out)
	return out, nil
}

// keepsEncoded says whether the storage has the bytes of objects, and nothing here has to look into them.
func (e *Store) keepsEncoded() bool { return e.Decorator == nil && e.Storage.keepsEncoded() }
