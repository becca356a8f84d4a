package registry

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// Hooks add a resource's own code to the verbs, beside its strategies. Each is optional. The package comment has the
// order in which a verb calls them.
type Hooks struct {
	BeginCreate BeginCreateFunc
	AfterCreate AfterCreateFunc

	BeginUpdate BeginUpdateFunc
	AfterUpdate AfterUpdateFunc
	// ShouldDeleteDuringUpdate may keep an object that an update would delete by the rules of
	// [ShouldDeleteDuringUpdate].
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
	return begin(ctx, "BeginCreate", obj, func(ctx context.Context) (FinishFunc, error) { return h.BeginCreate(ctx, obj, options) })
}

func (h *Hooks) beginUpdate(ctx context.Context, obj, old runtime.Object, options *metav1.UpdateOptions) (FinishFunc, error) {
	if h.BeginUpdate == nil {
		return finishNothing, nil
	}
	return begin(ctx, "BeginUpdate", obj, func(ctx context.Context) (FinishFunc, error) { return h.BeginUpdate(ctx, obj, old, options) })
}

// begin calls a Begin hook, which may change obj, as a step.
func begin(ctx context.Context, hook string, obj runtime.Object, call func(context.Context) (FinishFunc, error)) (_ FinishFunc, err error) {
	ctx, step := trace.Start(ctx, steps.StoreBegin, hook)
	defer step.End(&err)
	step.Before(obj)
	finish, err := call(ctx)
	if err != nil {
		return nil, err
	}
	step.After(obj)
	return onlyOnce(finish), nil
}

// after calls an After hook, as a step.
func after(ctx context.Context, hook string, call func()) {
	_, step := trace.Start(ctx, steps.StoreAfter, hook)
	defer step.End(nil)
	call()
}

func finishNothing(context.Context, bool) {}

// onlyOnce makes only the first call of finish count. So a verb can defer finish with a failure and call it with
// success at its end.
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

// decorate calls the Decorator, if there is one, as a step.
func (h *Hooks) decorate(ctx context.Context, obj runtime.Object) {
	if h.Decorator == nil {
		return
	}
	_, step := trace.Start(ctx, steps.StoreDecorate, "")
	defer step.End(nil)
	step.Before(obj)
	h.Decorator(obj)
	step.After(obj)
}

// noteDecorator records in the step of a read that there is no Decorator, since a missing one takes no step of its
// own.
func (h *Hooks) noteDecorator(step *trace.Step) {
	if h.Decorator == nil {
		step.Text("decorator", "none")
	}
}

// note notes in the step of a write which hooks there are: the others take no step.
func (h *Hooks) note(step *trace.Step) {
	if !step.Recording() {
		return
	}
	var there []string
	for _, hook := range []struct {
		name string
		has  bool
	}{
		{"BeginCreate", h.BeginCreate != nil}, {"AfterCreate", h.AfterCreate != nil},
		{"BeginUpdate", h.BeginUpdate != nil}, {"AfterUpdate", h.AfterUpdate != nil},
		{"AfterDelete", h.AfterDelete != nil}, {"Decorator", h.Decorator != nil},
	} {
		if hook.has {
			there = append(there, hook.name)
		}
	}
	if there == nil {
		there = []string{"none"}
	}
	step.Text("hooks", strings.Join(there, ", "))
}
