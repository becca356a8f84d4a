package registry

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
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
func (e *Store) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, admit rest.UpdateAdmission,
	options *metav1.UpdateOptions) (_ runtime.Object, _ bool,
	err error) {
	key, err := e.KeyFunc(ctx, name)
	if err != nil {
		return nil, false, err
	}
	ctx, step := trace.Start(ctx, steps.StoreUpdate, key)
	defer step.End(&err)
	e.note(step)
	encoded := e.AfterCreate == nil && e.AfterUpdate == nil && e.keepsEncoded() && !isDryRun(options.DryRun)

	u := &update{
		Store: e, name: name, key: key, options: options,
		resource:      e.qualifiedResourceFromContext(ctx),
		objInfo:       objInfo,
		preconditions: storagePreconditions(objInfo.Preconditions()),
		admit:         admit,
		// Server-side apply creates where the strategy would not.
		mayCreate: admit.ForceAllowCreate || e.UpdateStrategy.AllowCreateOnUpdate(),
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
	stored, err := e.Storage.GuaranteedUpdate(ctx, key, out, try, isDryRun(options.DryRun),
		store.UpdateOptions{IgnoreNotFound: u.mayCreate, Preconditions: u.preconditions})
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
	name, key     string
	resource      schema.GroupResource
	objInfo       rest.UpdatedObjectInfo
	preconditions *store.Preconditions
	admit         rest.UpdateAdmission
	mayCreate     bool
	options       *metav1.UpdateOptions

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
	err := u.Storage.Delete(ctx, u.key, removed, store.ValidateAllObjectFunc, isDryRun(options.DryRun),
		store.DeleteOptions{Preconditions: u.only})
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

// BeforeUpdate prepares obj to replace old and validates it.
func BeforeUpdate(ctx context.Context, strategy rest.RESTUpdateStrategy, obj, old runtime.Object) (err error) {
	m, kind, err := objectMetaAndKind(strategy, obj)
	if err != nil {
		return err
	}
	oldMeta, err := meta.Accessor(old)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	ctx, step := trace.StartObject(ctx, steps.StoreBeforeUpdate, kind.Kind+" "+m.GetName(), obj)
	defer step.End(&err)

	if err := ensureNamespace(ctx, strategy.NamespaceScoped(), m); err != nil {
		return err
	}
	// Clients can't set the generation. The strategy moves it from the old value if the spec changed.
	m.SetGeneration(oldMeta.GetGeneration())
	prepare(ctx, strategy, obj, func(ctx context.Context) { strategy.PrepareForUpdate(ctx, obj, old) })
	keepSystemFields(m, oldMeta)
	if errs := validateUpdate(ctx, strategy, obj, old, m, oldMeta); len(errs) > 0 {
		step.Why(fieldsInvalid, int64(len(errs)))
		return invalid(ctx, kind.GroupKind(), m.GetName(), errs)
	}
	warn(ctx, strategy.WarningsOnUpdate(ctx, obj, old))
	strategy.Canonicalize(obj)

	step.Why(whyValid)
	step.After(obj)
	return nil
}

// keepSystemFields restores the fields that an update can't change. Validation refuses another UID or grace period;
// everything else is corrected silently, since clients send back old copies.
func keepSystemFields(m, old metav1.Object) {
	if m.GetUID() == "" {
		m.SetUID(old.GetUID())
	}
	if created := old.GetCreationTimestamp(); !created.IsZero() {
		m.SetCreationTimestamp(created)
	}
	if deleted := old.GetDeletionTimestamp(); !deleted.IsZero() {
		m.SetDeletionTimestamp(deleted)
	}
	if m.GetDeletionGracePeriodSeconds() == nil {
		m.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	}
}

func validateUpdate(ctx context.Context, strategy rest.RESTUpdateStrategy, obj, old runtime.Object, m,
	oldMeta metav1.Object) field.ErrorList {
	m, oldMeta = validatedMetadata(m), validatedMetadata(oldMeta)
	errs := validation.ValidateObjectMetaAccessor(m, strategy.NamespaceScoped(), validatePathSegment, metadataPath)
	errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(m, oldMeta, metadataPath)...)
	return arrange(strategy, append(errs, strategy.ValidateUpdate(ctx, obj, old)...))
}
