package registry

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

var (
	deletionUnderWay = trace.Because("deletion-under-way",
		"it is being deleted already, at least as fast as asked",
		"已经在删除，不慢于请求的要求")
	removedAtOnce = trace.Because("removed-at-once",
		"no grace period and no finalizers: it is removed",
		"没有宽限期，也没有终结器：直接删除")
	markedDeleting = trace.Because("marked-deleting",
		"it is marked as deleting: a finalizer or the end of its grace period removes it",
		"标记为正在删除，等终结器处理完或宽限期结束后再移除")
	removalTried = trace.Because("removal-tried",
		"dry run: the state that would have been removed",
		"试运行：这是本来会被删除的状态")
	removedAfterMark = trace.Because("removed-after-mark",
		"nothing to wait for: it is removed",
		"无需等待：直接删除")
)

// Delete implements rest.GracefulDeleter. nil options delete at once. The strategy may set the grace period in options.
func (e *Store) Delete(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc,
	options *metav1.DeleteOptions) (_ runtime.Object, _ bool, err error) {
	key, err := e.KeyFunc(ctx, name)
	if err != nil {
		return nil, false, err
	}
	ctx, step := trace.Start(ctx, steps.StoreDelete, key)
	defer step.End(&err)
	if options == nil {
		options = metav1.NewDeleteOptions(0)
	}
	noteDeleteOptions(step, options)
	e.note(step)
	d := &deletion{
		Store: e, step: step, name: name, key: key, options: options, validate: deleteValidation,
		resource:      e.qualifiedResourceFromContext(ctx),
		preconditions: *storagePreconditions(options.Preconditions),
	}

	// The first read decides whether a finalizer or a grace period holds the object. If not, it is removed without a
	// mark, and what was read is the answer if it is still there.
	existing := e.NewFunc()
	if _, err := e.Storage.Get(ctx, key, store.GetOptions{}, existing); err != nil {
		return nil, false, InterpretDeleteError(ctx, err, d.resource, name)
	}
	graceful, pending, err := BeforeDelete(ctx, e.DeleteStrategy, existing, options)
	if err != nil {
		return nil, false, err
	}
	if pending {
		step.Why(deletionUnderWay)
		out, err := e.finalizeDelete(ctx, existing, false, options)
		return out, false, err
	}
	m, err := meta.Accessor(existing)
	if err != nil {
		return nil, false, apierrors.NewInternalError(err)
	}
	_, refinalize := e.finalizersForDeletion(ctx, m, options)
	if !graceful && len(m.GetFinalizers()) == 0 && !refinalize {
		step.Why(removedAtOnce)
		if out, gone, err := d.remove(ctx, nil, existing); !errors.Is(err, errHeld) {
			return out, gone, err
		}
	}
	for {
		marked, err := d.mark(ctx, existing)
		if err != nil {
			return nil, false, err
		}
		if !marked.remove {
			step.Why(markedDeleting)
			return marked.out, false, nil
		}
		if isDryRun(options.DryRun) && marked.out != nil {
			// The mark was not stored, so reading the object again would show it without.
			step.Why(removalTried)
			return marked.out, true, nil
		}
		step.Why(removedAfterMark)
		if out, gone, err := d.remove(ctx, marked, marked.out); !errors.Is(err, errHeld) {
			return out, gone, err
		}
	}
}

// errHeld ends the removal of an object that got a finalizer since it was read: the finalizer's controller must act
// first.
var errHeld = errors.New("held by a finalizer")

var finalizerCame = trace.Because("finalizer-came",
	"somebody gave it a finalizer meanwhile: it stays until that is gone",
	"期间有人给它加了终结器：在终结器去掉之前，对象保留")

// removable says why the state that is there in the end must not be removed.
func (d *deletion) removable(ctx context.Context, obj runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	finalizers, changed := d.finalizersForDeletion(ctx, m, d.options)
	if !changed {
		finalizers = m.GetFinalizers()
	}
	if len(finalizers) > 0 {
		d.step.Why(finalizerCame)
		return errHeld
	}
	return d.validate(ctx, obj)
}

// deletion is one deletion under way, with its options.
type deletion struct {
	*Store
	step          *trace.Step
	name, key     string
	resource      schema.GroupResource
	preconditions store.Preconditions
	validate      rest.ValidateObjectFunc
	options       *metav1.DeleteOptions
}

var removedByOther = trace.Because("removed-by-other",
	"somebody else removed it after it was marked, which is no error: the state that was marked is the answer",
	"标记之后被别人删除，这不算错误：返回标记时的状态")

// remove takes the object out of the storage. marked is the result of marking it before, nil if it was not marked.
// known is the latest state that was read or written, if there is one: the storage tries it first, and may answer with
// it.
func (d *deletion) remove(ctx context.Context, marked *mark, known runtime.Object) (runtime.Object, bool, error) {
	if marked != nil && marked.out != nil && d.preconditions.ResourceVersion != nil {
		// The client saw the state before the mark. It held then, and what must hold now is the mark itself.
		m, err := meta.Accessor(marked.out)
		if err != nil {
			return marked.out, false, apierrors.NewInternalError(err)
		}
		revision := m.GetResourceVersion()
		d.preconditions.ResourceVersion = &revision
	}
	out := d.NewFunc()
	err := d.Storage.Delete(ctx, d.key, out, d.removable, isDryRun(d.options.DryRun),
		store.DeleteOptions{Preconditions: &d.preconditions, Suggestion: known})
	if errors.Is(err, errHeld) {
		return nil, false, err
	}
	if store.IsNotFound(err) && marked != nil && marked.out != nil {
		// Another deletion was faster. The marked state is the latest one that we know.
		d.step.Why(removedByOther)
		out, err = marked.existing, nil
	}
	if err != nil {
		return nil, false, InterpretDeleteError(ctx, err, d.resource, d.name)
	}
	result, err := d.finalizeDelete(ctx, out, true, d.options)
	return result, true, err
}

// mark is the result of marking an object as deleting.
type mark struct {
	// remove: no finalizer or grace period holds the object, so it can be removed now.
	remove bool
	// out is the answer, or the state with the mark; nil if the object needed none.
	out runtime.Object
	// existing is the state that was marked.
	existing runtime.Object
}

// These end an attempt to mark an object that needs no mark.
var (
	errAlreadyDeleting = errors.New("abort delete")
	errDeleteNow       = errors.New("delete now")
)

// mark stores that the object is being deleted, and by which finalizers. seen is the state at the first look.
func (d *deletion) mark(ctx context.Context, seen runtime.Object) (*mark, error) {
	result := &mark{}
	out := d.NewFunc()
	try := func(existing runtime.Object, _ store.ResponseMeta) (runtime.Object, *uint64, error) {
		next, err := d.tryMark(ctx, existing, result)
		return next, nil, err
	}
	_, err := d.Storage.GuaranteedUpdate(ctx, d.key, out, try, isDryRun(d.options.DryRun),
		store.UpdateOptions{Preconditions: &d.preconditions})
	switch {
	case err == nil:
		result.out = out
		return result, nil
	case errors.Is(err, errDeleteNow):
		return &mark{remove: true}, nil
	case errors.Is(err, errAlreadyDeleting):
		out, err := d.finalizeDelete(ctx, seen, true, d.options)
		return &mark{out: out}, err
	}
	return nil, InterpretUpdateError(ctx, err, d.resource, d.name)
}

// tryMark is one attempt, on the state that is there now.
func (d *deletion) tryMark(ctx context.Context, existing runtime.Object, result *mark) (runtime.Object, error) {
	if err := d.validate(ctx, existing); err != nil {
		return nil, err
	}
	next := existing.DeepCopyObject()
	graceful, pending, err := BeforeDelete(ctx, d.DeleteStrategy, next, d.options)
	if err != nil {
		return nil, err
	}
	if pending {
		// From here on delete options change no finalizers: their controllers may have begun to act on them.
		return nil, errAlreadyDeleting
	}
	m, err := meta.Accessor(next)
	if err != nil {
		return nil, err
	}
	if finalizers, changed := d.finalizersForDeletion(ctx, m, d.options); changed {
		m.SetFinalizers(finalizers)
	}
	pendingFinalizers := len(m.GetFinalizers()) > 0
	if !graceful {
		if !pendingFinalizers {
			return nil, errDeleteNow
		}
		markAsDeleting(m, metav1.Now())
	}
	*result = mark{
		existing: next,
		remove:   !pendingFinalizers && *d.options.GracePeriodSeconds <= 0,
	}
	return next, nil
}

// markAsDeleting is for objects without a grace period: those with one were marked by BeforeDelete.
func markAsDeleting(m metav1.Object, now metav1.Time) {
	deleted := m.GetDeletionTimestamp()
	if deleted == nil && m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
	if deleted == nil || deleted.After(now.Time) {
		m.SetDeletionTimestamp(&now)
	}
	var zero int64
	m.SetDeletionGracePeriodSeconds(&zero)
}

// finalizeDelete calls the hook, if the object is truly gone, and makes the answer.
func (e *Store) finalizeDelete(ctx context.Context, obj runtime.Object, runHooks bool, options *metav1.DeleteOptions) (runtime.Object,
	error) {
	if runHooks && e.AfterDelete != nil {
		after(ctx, "AfterDelete", func() { e.AfterDelete(obj, options) })
	}
	if e.ReturnDeletedObject {
		e.decorate(ctx, obj)
		return obj, nil
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	resource := e.qualifiedResourceFromContext(ctx)
	return &metav1.Status{
		Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{
			// By the UID a client can tell its object from a later one of the same name. Kind holds the resource in
			// these Details: clients expect that.
			Name: m.GetName(), UID: m.GetUID(), Group: resource.Group, Kind: resource.Resource,
		},
	}, nil
}

// noteDeleteOptions records the options in the step.
func noteDeleteOptions(step *trace.Step, options *metav1.DeleteOptions) {
	if !step.Recording() {
		return
	}
	if options.GracePeriodSeconds != nil {
		step.Int("gracePeriodSeconds", *options.GracePeriodSeconds)
	}
	if options.PropagationPolicy != nil {
		step.Text("propagationPolicy", string(*options.PropagationPolicy))
	}
	if p := options.Preconditions; p != nil && p.UID != nil {
		step.Text("precondition.uid", string(*p.UID))
	}
	if p := options.Preconditions; p != nil && p.ResourceVersion != nil {
		step.Text("precondition.resourceVersion", *p.ResourceVersion)
	}
}
