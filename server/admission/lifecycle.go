package admission

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store"
)

// namespaceLifecycle refuses to create objects in a namespace that does not exist or is being deleted. It also
// refuses to delete the namespaces that every cluster needs.
type namespaceLifecycle struct {
	// namespaces is nil if the server has no namespaces: then everything is admitted.
	namespaces rest.Getter
	// etcd is where the namespaces are.
	etcd store.Etcd
}

var (
	namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace").GroupKind()

	// readNamespace describes the read of a namespace. Errors name its resource.
	readNamespace = &request.RequestInfo{IsResourceRequest: true, Verb: "get", APIVersion: "v1", Resource: "namespaces"}

	immortal = map[string]bool{metav1.NamespaceDefault: true, metav1.NamespaceSystem: true, metav1.NamespacePublic: true}

	// accessReviews may be created in any namespace: a refusal would reveal which namespaces exist.
	accessReviews = map[schema.GroupResource]bool{
		{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}: true,
	}
)

// plugin leaves out updates: their objects exist, so their namespace does.
func (l *namespaceLifecycle) plugin() plugin.Plugin {
	return plugin.Plugin{Operations: []admission.Operation{admission.Create, admission.Delete}, ReadOnly: true, Admit: l.admit}
}

// admit changes nothing. It refuses early, before other plugins do their work.
func (l *namespaceLifecycle) admit(ctx context.Context, a plugin.Write) error {
	isNamespace := a.GetKind().GroupKind() == namespaceKind
	if a.GetOperation() == admission.Delete {
		if isNamespace && immortal[a.GetName()] {
			return apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), errors.New("this namespace may not be deleted"))
		}
		return nil
	}
	if isNamespace || a.GetNamespace() == "" || accessReviews[a.GetResource().GroupResource()] || l.namespaces == nil {
		return nil
	}
	return l.admitInto(ctx, a)
}

var namespaceInTransaction = trace.Because("namespace-in-transaction",
	"the namespace is there, at revision {revision}: the transaction that writes the object checks that it still is",
	"命名空间存在，修订版本 {revision}：写入对象的事务会检查它是否仍在该版本")

// admitInto looks at the namespace of a new object. A cache may not know yet that the namespace was deleted, and the
// object would stay for ever. So a cached namespace counts only if the transaction that writes the object finds it
// unchanged. Otherwise, and for what is not written there, the namespace is read from etcd.
func (l *namespaceLifecycle) admitInto(ctx context.Context, a plugin.Write) error {
	condition := store.ConditionOf(ctx)
	if condition == nil || condition.Etcd != l.etcd || condition.Etcd == (store.Etcd{}) || a.IsDryRun() {
		_, err := l.usable(ctx, a)
		return err
	}
	found, err := l.get(ctx, a.GetNamespace(), cached)
	if err != nil || found.Status.Phase == corev1.NamespaceTerminating {
		if found, err = l.usable(ctx, a); err != nil {
			return err
		}
	}
	a.Step.Why(namespaceInTransaction, found.revision)
	condition.Key, condition.Revision = found.key, found.revision
	condition.Renew = func(ctx context.Context) (int64, error) {
		found, err := l.usable(withNamespace(ctx), a)
		return found.revision, err
	}
	return nil
}

// usable reads the namespace of a new object from etcd. If nothing may be created in it, that is the error.
func (l *namespaceLifecycle) usable(ctx context.Context, a plugin.Write) (found namespace, err error) {
	name := a.GetNamespace()
	found, err = l.latest(ctx, name)
	switch {
	case err != nil && ctx.Err() != nil:
		return found, ctx.Err() // the handler says that the time is up
	case apierrors.IsNotFound(err), apierrors.IsBadRequest(err): // bad: no namespace can have the name
		return found, err
	case err != nil:
		return found, apierrors.NewInternalError(err)
	}
	if found.Status.Phase != corev1.NamespaceTerminating {
		return found, nil
	}
	err = admission.NewForbidden(a, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", name))
	if status := (*apierrors.StatusError)(nil); errors.As(err, &status) {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{
			Type:    corev1.NamespaceTerminatingCause,
			Message: fmt.Sprintf("namespace %s is being terminated", name),
			Field:   "metadata.namespace",
		})
	}
	return found, err
}

// namespace is a namespace as the storage has it. It is shared.
type namespace struct {
	*corev1.Namespace
	key      string
	revision int64
}

type namespaceContextKey struct{}

// withNamespace returns a context in which the latest namespace is read once.
func withNamespace(ctx context.Context) context.Context {
	return context.WithValue(ctx, namespaceContextKey{}, &atomic.Pointer[namespace]{})
}

// latest returns a namespace, no older than the request.
func (l *namespaceLifecycle) latest(ctx context.Context, name string) (namespace, error) {
	known, _ := ctx.Value(namespaceContextKey{}).(*atomic.Pointer[namespace])
	if known != nil {
		if found := known.Load(); found != nil && found.Name == name {
			return *found, nil
		}
	}
	found, err := l.get(ctx, name, "")
	if known != nil && err == nil {
		known.Store(&found)
	}
	return found, err
}

// cached is the resourceVersion that any state will do for.
const cached = "0"

func (l *namespaceLifecycle) get(ctx context.Context, name, resourceVersion string) (found namespace, err error) {
	if l.namespaces == nil {
		return found, apierrors.NewNotFound(corev1.Resource("namespaces"), name)
	}
	ctx = request.WithRequestInfo(ctx, readNamespace)
	obj, err := rest.EncodedGet(l.namespaces)(ctx, name, &metav1.GetOptions{ResourceVersion: resourceVersion})
	if err != nil {
		return found, err
	}
	if encoded, ok := obj.(*object.Encoded); ok {
		found.key, found.revision = encoded.Key(), encoded.Revision()
	}
	found.Namespace, err = builtin.As[*corev1.Namespace](obj)
	return found, err
}
