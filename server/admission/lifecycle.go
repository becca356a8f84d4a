package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
	looks        looks
}

// unseenDeletion is how long it may take until a deletion that is let in here has come to etcd.
const unseenDeletion = 30 * time.Second

// lookFor is how long what one creation found in etcd is good for those that come while many do. Another server may delete
// the namespace meanwhile: its content is deleted 100 ms after that, and what is let in until then has to be in etcd.
const lookFor = 20 * time.Millisecond

// looks are the looks at namespaces that went well in the last moment. One look at a time is shared with nobody, so that
// few creations cost nothing but themselves: it is remembered when another was under way at its end.
type looks struct {
	mu    sync.Mutex
	under int                  // looks under way
	good  map[string]time.Time // when the look at a namespace that is there began
}

// mostLooks bounds the namespaces that are remembered.
const mostLooks = 1024

// begin says whether a look is needed at all.
func (l *looks) begin(name string, now time.Time) (needed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if began, ok := l.good[name]; ok && now.Sub(began) < lookFor {
		return false
	}
	l.under++
	return true
}

// end is told how a look went that began at some time.
func (l *looks) end(name string, began time.Time, good bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.under--
	if !good {
		delete(l.good, name)
		return
	}
	if l.under == 0 {
		return
	}
	if l.good == nil || len(l.good) == mostLooks {
		l.good = map[string]time.Time{}
	}
	l.good[name] = began
}

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

// admitInto looks at the namespace that something is to be created in, as it is in etcd: what a cache has may be older than
// the namespace's end, and what is created then would stay for ever. If many come at once, one looks for others.
func (l *NamespaceLifecycle) admitInto(ctx context.Context, a admission.Attributes) (err error) {
	name, now := a.GetNamespace(), time.Now()
	if now.Sub(time.Unix(l.lastDeletion.Load(), 0)) > unseenDeletion {
		if !l.looks.begin(name, now) {
			return nil
		}
		defer func() { l.looks.end(name, now, err == nil) }()
	}
	ns, err := l.get(ctx, name)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err() // the handler says that the time is up
	case apierrors.IsNotFound(err):
		return err
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

func (l *NamespaceLifecycle) get(ctx context.Context, name string) (*corev1.Namespace, error) {
	obj, err := l.namespaces.Get(request.WithRequestInfo(ctx, readNamespace), name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return builtin.As[*corev1.Namespace](obj)
}
