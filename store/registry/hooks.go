package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Hooks are what a resource adds to the verbs beside its strategies. Each is optional. The package comment has the order
// in which a verb calls them.
type Hooks struct {
	BeginCreate BeginCreateFunc
	AfterCreate AfterCreateFunc

	BeginUpdate BeginUpdateFunc
	AfterUpdate AfterUpdateFunc
	// ShouldDeleteDuringUpdate may keep an object that an update would delete by the rules of [ShouldDeleteDuringUpdate].
	ShouldDeleteDuringUpdate func(ctx context.Context, key string, obj, existing runtime.Object) bool

	AfterDelete AfterDeleteFunc

	// TTLFunc returns for how many seconds obj lives from this write on; 0 is for ever. existing is the rest of its
	// present time, if the storage knows it; etcd3 does not, and passes 0.
	TTLFunc func(obj runtime.Object, existing uint64, update bool) (uint64, error)
	// Decorator changes objects, lists, and objects in watch events on their way out. It costs the encoded way: every
	// object that it may change has to be decoded.
	Decorator func(runtime.Object)
}

// A Begin hook may return a FinishFunc. The verb calls it once at its end, before the After hook, with whether it
// succeeded.
type (
	FinishFunc      func(ctx context.Context, success bool)
	BeginCreateFunc func(ctx context.Context, obj runtime.Object, options *metav1.CreateOptions) (FinishFunc, error)
	AfterCreateFunc func(obj runtime.Object, options *metav1.CreateOptions)
	BeginUpdateFunc func(ctx context.Context, obj, old runtime.Object, options *metav1.UpdateOptions) (FinishFunc, error)
	AfterUpdateFunc func(obj runtime.Object, options *metav1.UpdateOptions)
	AfterDeleteFunc func(obj runtime.Object, options *metav1.DeleteOptions)
)

func (h *Hooks) beginCreate(ctx context.Context, obj runtime.Object, options *metav1.CreateOptions) (FinishFunc, error) {
	if h.BeginCreate == nil {
		return finishNothing, nil
	}
	finish, err := h.BeginCreate(ctx, obj, options)
	if err != nil {
		return nil, err
	}
	return onlyOnce(finish), nil
}

func (h *Hooks) beginUpdate(ctx context.Context, obj, old runtime.Object, options *metav1.UpdateOptions) (FinishFunc, error) {
	if h.BeginUpdate == nil {
		return finishNothing, nil
	}
	finish, err := h.BeginUpdate(ctx, obj, old, options)
	if err != nil {
		return nil, err
	}
	return onlyOnce(finish), nil
}

func finishNothing(context.Context, bool) {}

// onlyOnce lets a verb defer finish with a failure and call it with success at its end: the first call counts.
func onlyOnce(finish FinishFunc) FinishFunc {
	if finish == nil {
		return finishNothing
	}
	called := false
	return func(ctx context.Context, success bool) {
		if !called {
			called = true
			finish(ctx, success)
		}
	}
}

// calculateTTL returns for how many seconds obj lives, 0 for ever. A storage may report less than nothing left for an
// expired object that is still there. That becomes one second: 0 would be for ever.
func (h *Hooks) calculateTTL(obj runtime.Object, existing int64, update bool) (uint64, error) {
	if existing < 0 {
		existing = 1
	}
	if h.TTLFunc == nil {
		return uint64(existing), nil
	}
	return h.TTLFunc(obj, uint64(existing), update)
}

func (h *Hooks) decorate(obj runtime.Object) {
	if h.Decorator != nil {
		h.Decorator(obj)
	}
}
