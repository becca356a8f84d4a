package namespace

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// namespaces is the resource of namespaces.
var namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")

var namespaceEmpty = trace.Because("namespace-empty",
	"nothing is left in the namespace: it may go",
	"命名空间中已没有对象：可以消失了")

// empty deletes the content of a namespace, records the remaining content in its status, and removes our
// finalizer if nothing remains. done reports whether our work is done.
func (c *Controller) empty(ctx context.Context, uid types.UID, e *endingNamespace) (done bool, err error) {
	ns, err := c.stillEnding(ctx, e.name, uid)
	if err != nil {
		return gone(err), unlessGone(err)
	}
	remains := c.deleteContent(ctx, ns, e)
	if err := c.tell(ctx, ns, remains); err != nil {
		return gone(err), unlessGone(err)
	}
	if !remains.isGone() {
		return false, nil
	}
	why := func(step *trace.Step) { step.Why(namespaceEmpty) }
	err = c.update(ctx, c.finalize, "finalize", ns, why, func(ns *corev1.Namespace) {
		ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers,
			func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	})
	if err == nil {
		c.log.Debug("a namespace that is being deleted is empty", "namespace", e.name)
	}
	return err == nil || gone(err), unlessGone(err)
}

// deleteContent deletes the content of a namespace: of all resources at first, then of those with remaining
// objects. When nothing is left, it examines all once more. Nothing remains for certain only if all resources
// are known, and were before their storages were read.
func (c *Controller) deleteContent(ctx context.Context, ns *corev1.Namespace, e *endingNamespace) *content {
	guard := c.guard(e.name, ns.UID)
	var unknown error
	if e.left == nil || e.incomplete {
		if unknown = c.complete(ctx); unknown == nil {
			e.left = nil
		}
	}
	remains := deleteContent(ctx, ns, c.allStorages(), c.writer, guard, e.left)
	if e.left != nil && unknown == nil && remains.isGone() {
		unknown = c.complete(ctx)
		remains = deleteContent(ctx, ns, c.allStorages(), c.writer, guard, nil)
	}
	remains.unknown = unknown
	e.left, e.incomplete = remains.left, unknown != nil
	return remains
}

// allStorages returns the storages of this server and of others.
func (c *Controller) allStorages() map[schema.GroupVersionResource]rest.Storage {
	all := c.storages()
	if c.elsewhere != nil {
		maps.Copy(all, c.elsewhere())
	}
	return all
}

// stillEnding reads the namespace. The error is errNotEnding if the namespace is gone, if another one has its
// name, if it has no finalizers, or if it is not being deleted: a rewind may have brought it back.
func (c *Controller) stillEnding(ctx context.Context, name string, uid types.UID) (*corev1.Namespace, error) {
	ns, err := c.get(ctx, name)
	if err == nil && (ns.UID != uid || ns.DeletionTimestamp == nil || len(ns.Spec.Finalizers) == 0) {
		err = errNotEnding
	}
	return ns, err
}

// guard admits the deletion of an object only if the object certainly belongs to the namespace. The object was
// read before: if the namespace exists now, it existed then.
func (c *Controller) guard(name string, uid types.UID) rest.ValidateObjectFunc {
	return func(ctx context.Context, _ runtime.Object) error {
		_, err := c.stillEnding(ctx, name, uid)
		return err
	}
}

func gone(err error) bool { return errors.Is(err, errNotEnding) || apierrors.IsNotFound(err) }

func unlessGone(err error) error {
	if gone(err) {
		return nil
	}
	return err
}

var namespaceRemains = trace.Because("namespace-remains",
	"conditions that say what is left in the namespace, and why: {conditions}",
	"说明命名空间中还剩什么、为什么的状况：{conditions} 条")

// tell records the remaining content in the namespace's status, unless the status already has it.
func (c *Controller) tell(ctx context.Context, ns *corev1.Namespace, remains *content) error {
	bad, now := remains.bad(), metav1.Now()
	if ns.Status.Phase == corev1.NamespaceTerminating && !setConditions(ns.Status.DeepCopy(), bad, now) {
		return nil
	}
	if len(bad) > 0 {
		c.log.Info("a namespace that is being deleted is not empty yet", "namespace", ns.Name, "why", inOrder(bad))
	}
	why := func(step *trace.Step) { step.Why(namespaceRemains, int64(len(bad))) }
	return c.update(ctx, c.status, "status", ns, why, func(ns *corev1.Namespace) {
		ns.Status.Phase = corev1.NamespaceTerminating
		setConditions(&ns.Status, bad, now)
	})
}

// update changes the current state of the namespace, provided it has the UID of seen. Storage repeats the
// change if another client writes meanwhile.
func (c *Controller) update(ctx context.Context, to rest.Updater, subresource string, seen *corev1.Namespace, why func(*trace.Step),
	change func(*corev1.Namespace)) (err error) {
	next := func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		ns, err := builtin.As[*corev1.Namespace](old)
		if err != nil {
			return nil, err
		}
		if ns.UID != seen.UID {
			return nil, errNotEnding
		}
		ns = ns.DeepCopy()
		change(ns)
		return ns, nil
	}
	ctx, end := c.writer.Begin(ctx, work.Write{
		Verb: "update", Resource: namespaces, Subresource: subresource, Name: seen.Name, Cause: revisionOf(seen), Why: why,
	})
	defer end(&err)
	_, err = c.writer.Update(ctx, to, seen.Name, rest.DefaultUpdatedObjectInfo(nil, next))
	return err
}

// revisionOf returns the revision of a namespace's last write; 0 if it has none.
func revisionOf(ns *corev1.Namespace) int64 {
	revision, err := strconv.ParseInt(ns.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return revision
}
