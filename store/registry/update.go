package registry

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

var (
	missingCreated = trace.Because("missing-created", "a missing object is created", "对象不存在，创建它")
	missingRefused = trace.Because("missing-refused",
		"a missing object is an error: updates do not create the resource",
		"对象不存在是错误：更新不会创建该资源")
	lastFinalizerGone = trace.Because("last-finalizer-gone",
		"the update removed the last finalizer from an object that is being deleted: the object is removed",
		"更新移除了正在删除的对象的最后一个终结器，对象随即删除")
)

// Update changes an object. The storage calls back, once or more, to learn the next state: see tryUpdate.
func (e *Store) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (_ runtime.Object, _ bool,
	err error) {
	key, err := e.KeyFunc(ctx, name)
	if err != nil {
		return nil, false, err
	}
	ctx, step := trace.Start(ctx, trace.StoreUpdate, key)
	defer step.End(&err)
	e.note(step)
	encoded := e.AfterCreate == nil && e.AfterUpdate == nil && e.keepsEncoded() && !isDryRun(options.DryRun)

	u := &update{
		Store: e, name: name, key: key, options: options,
		resource:         e.qualifiedResourceFromContext(ctx),
		objInfo:          objInfo,
		preconditions:    storagePreconditions(objInfo.Preconditions()),
		createValidation: createValidation,
		updateValidation: updateValidation,
		// Server-side apply creates where the strategy would not.
		mayCreate: forceAllowCreate || e.UpdateStrategy.AllowCreateOnUpdate(),
	}
	if u.mayCreate {
		step.Why(missingCreated)
	} else {
		step.Why(missingRefused)
	}

	var out runtime.Object
	if !encoded {
		out = e.NewFunc()
	}
	try := func(existing runtime.Object, res store.ResponseMeta) (runtime.Object, *uint64, error) {
		return u.tryUpdate(ctx, existing, res)
	}
	stored, err := e.Storage.GuaranteedUpdate(ctx, key, out, u.mayCreate, u.preconditions, try, isDryRun(options.DryRun), nil)
	if errors.Is(err, errEmptiedFinalizers) {
		step.Why(lastFinalizerGone)
		obj, err := u.deleteWithoutFinalizers(ctx)
		return obj, false, err
	}
	if err != nil {
		return nil, false, u.interpret(ctx, err)
	}
	if encoded {
		return stored, u.created != nil, nil
	}
	u.after(ctx, out)
	return out, u.created != nil, nil
}

// update is one update under way, with its options and the result of its latest attempt.
type update struct {
	*Store
	name, key        string
	resource         schema.GroupResource
	objInfo          rest.UpdatedObjectInfo
	preconditions    *store.Preconditions
	createValidation rest.ValidateObjectFunc
	updateValidation rest.ValidateObjectUpdateFunc
	mayCreate        bool
	options          *metav1.UpdateOptions

	attempts int
	// created is the object that the latest attempt creates, nil if it changes an existing one.
	created runtime.Object
	// emptied is the object that lost its last finalizer in the latest attempt. only holds the preconditions that
	// keep another object from being deleted in its place.
	emptied runtime.Object
	only    *store.Preconditions
}

// errEmptiedFinalizers ends an update that turned out to be a deletion.
var errEmptiedFinalizers = errors.New("emptied finalizers")

// after calls the hooks that follow a write.
func (u *update) after(ctx context.Context, out runtime.Object) {
	switch {
	case u.created != nil && u.AfterCreate != nil:
		after(ctx, "AfterCreate", func() { u.AfterCreate(out, u.createOptions()) })
	case u.created == nil && u.AfterUpdate != nil:
		after(ctx, "AfterUpdate", func() { u.AfterUpdate(out, u.options) })
	}
	u.decorate(ctx, out)
}

func (u *update) interpret(ctx context.Context, err error) error {
	if u.created == nil {
		return InterpretUpdateError(ctx, err, u.resource, u.name)
	}
	return checkGeneratedNameError(ctx, u.CreateStrategy, InterpretCreateError(ctx, err, u.resource, u.name), u.created)
}

// deleteWithoutFinalizers removes the object and returns the state of the client's request: a PUT answers with an
// object, never with a Status.
func (u *update) deleteWithoutFinalizers(ctx context.Context) (runtime.Object, error) {
	options := &metav1.DeleteOptions{DryRun: u.options.DryRun}
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("DeleteOptions"))

	// Admission has allowed the update already.
	removed := u.NewFunc()
	err := u.Storage.Delete(ctx, u.key, removed, u.only, store.ValidateAllObjectFunc, isDryRun(options.DryRun), nil, store.DeleteOptions{})
	switch {
	case store.IsNotFound(err), store.IsInvalidObj(err):
		// Another update took the last finalizer away at the same time, and was faster. A new object may have the name
		// by now.
		removed = u.emptied
	case err != nil:
		return nil, InterpretDeleteError(ctx, err, u.resource, u.name)
	}
	if _, err := u.finalizeDelete(ctx, removed, true, options); err != nil {
		return nil, err
	}
	return u.emptied, nil
}

// createOptions returns the update's options in the form that hooks of a create take.
func (u *update) createOptions() *metav1.CreateOptions {
	options := &metav1.CreateOptions{
		DryRun: u.options.DryRun, FieldManager: u.options.FieldManager, FieldValidation: u.options.FieldValidation,
	}
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("CreateOptions"))
	return options
}

// storagePreconditions converts p. The result is never nil.
func storagePreconditions(p *metav1.Preconditions) *store.Preconditions {
	if p == nil {
		return &store.Preconditions{}
	}
	return &store.Preconditions{UID: p.UID, ResourceVersion: p.ResourceVersion}
}
