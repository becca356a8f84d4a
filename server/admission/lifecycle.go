package admission

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

// NamespaceLifecycle lets objects be created only in namespaces that exist and are not ending, and lets nobody delete the
// namespaces that a cluster can't be without.
type NamespaceLifecycle struct {
	// namespaces is nil if the server has none: then all is admitted.
	namespaces rest.Getter
	// lastDeletion is when this process last let a namespace be deleted, in Unix seconds.
	lastDeletion atomic.Int64
}

// unseenDeletion is how long the cache might not have seen the end of a namespace that this process began.
const unseenDeletion = 30 * time.Second

var _ admission.MutationInterface = &NamespaceLifecycle{}

var (
	namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace").GroupKind()

	// readNamespace is the request that a look at a namespace is: errors name the resource of it.
	readNamespace = &request.RequestInfo{IsResourceRequest: true, Verb: "get", APIVersion: "v1", Resource: "namespaces"}

	immortal = map[string]bool{metav1.NamespaceDefault: true, metav1.NamespaceSystem: true, metav1.NamespacePublic: true}

	// accessReviews may be created anywhere: a refusal would tell which namespaces exist to those who must not know.
	accessReviews = map[schema.GroupResource]bool{
		{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}: true,
	}
)

// Handles implements admission.Interface. Updates are of objects whose namespace has let them in.
func (*NamespaceLifecycle) Handles(operation admission.Operation) bool {
	return operation == admission.Create || operation == admission.Delete
}

// Admit implements admission.MutationInterface. It changes nothing, but refuses before others do their work.
func (l *NamespaceLifecycle) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	isNamespace := a.GetKind().GroupKind() == namespaceKind
	if a.GetOperation() == admission.Delete {
		if isNamespace && immortal[a.GetName()] {
			return apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), errors.New("this namespace may not be deleted"))
		}
		if isNamespace {
			l.lastDeletion.Store(time.Now().Unix())
		}
		return nil
	}
	if isNamespace || a.GetNamespace() == "" || accessReviews[a.GetResource().GroupResource()] || l.namespaces == nil {
		return nil
	}
	return l.admitInto(ctx, a)
}

// admitInto looks at the namespace that something is to be created in. One that was there when the cache last heard of it
// will do, as long as nobody here has deleted any; what speaks against the creation is asked of etcd.
func (l *NamespaceLifecycle) admitInto(ctx context.Context, a admission.Attributes) error {
	name := a.GetNamespace()
	if time.Since(time.Unix(l.lastDeletion.Load(), 0)) > unseenDeletion {
		if ns, err := l.get(ctx, name, "0"); err == nil && ns.Status.Phase != corev1.NamespaceTerminating {
			return nil
		}
	}
	ns, err := l.get(ctx, name, "")
	switch {
	case apierrors.IsNotFound(err):
		return err
	case err != nil && ctx.Err() != nil:
		return err // the handler says that the time is up
	case err != nil:
		return apierrors.NewInternalError(err)
	}
	if ns.Status.Phase != corev1.NamespaceTerminating {
		return nil
	}
	err = admission.NewForbidden(a, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", name))
	if status := (*apierrors.StatusError)(nil); errors.As(err, &status) {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{
			Type:    corev1.NamespaceTerminatingCause,
			Message: fmt.Sprintf("namespace %s is being terminated", name),
			Field:   "metadata.namespace",
		})
	}
	return err
}

func (l *NamespaceLifecycle) get(ctx context.Context, name, resourceVersion string) (*corev1.Namespace, error) {
	obj, err := l.namespaces.Get(request.WithRequestInfo(ctx, readNamespace), name, &metav1.GetOptions{ResourceVersion: resourceVersion})
	if err != nil {
		return nil, err
	}
	return builtin.As[*corev1.Namespace](obj)
}
