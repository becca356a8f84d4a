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
	"github.com/kx-apiserver/kx/server/admission/plugin"
	"github.com/kx-apiserver/kx/server/builtin"
)

// namespaceLifecycle refuses to create objects in a namespace that does not exist or is being deleted. It also
// refuses to delete the namespaces that every cluster needs.
type namespaceLifecycle struct {
	// namespaces is nil if the server has no namespaces: then everything is admitted.
	namespaces rest.Getter
	// lastDeletion is the time in Unix seconds at which this process last admitted the deletion of a namespace.
	lastDeletion atomic.Int64
	looks        looks
}

// unseenDeletion bounds the time from the admission of a deletion to its write in etcd.
const unseenDeletion = 30 * time.Second

// lookFor limits how long concurrent creates may share one read of a namespace. Another server may delete the
// namespace meanwhile. Its content is deleted 100 ms after that, and by then every admitted create must have
// reached etcd.
const lookFor = 20 * time.Millisecond

// looks remembers recent reads that found a namespace usable. A read is remembered only if another one was
// under way when it ended: sharing pays off only with many creates. mu guards under and good.
type looks struct {
	mu    sync.Mutex
	under int                  // looks under way
	good  map[string]time.Time // when the look at a namespace that is there began
}

// mostLooks limits the namespaces that are remembered.
const mostLooks = 1024

// begin reports whether a namespace has to be read.
func (l *looks) begin(name string, now time.Time) (needed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if began, ok := l.good[name]; ok && now.Sub(began) < lookFor {
		return false
	}
	l.under++
	return true
}

// end records the result of a read.
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
	return plugin.Plugin{Operations: []admission.Operation{admission.Create, admission.Delete}, Admit: l.admit}
}

// admit changes nothing. It refuses early, before other plugins do their work.
func (l *namespaceLifecycle) admit(ctx context.Context, a plugin.Write) error {
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

// admitInto reads the namespace of a new object from etcd. A cache may not know yet that the namespace was
// deleted, and the object would stay for ever. Concurrent creates share one read.
func (l *namespaceLifecycle) admitInto(ctx context.Context, a plugin.Write) (err error) {
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
	case apierrors.IsNotFound(err), apierrors.IsBadRequest(err): // bad: no namespace can have the name
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

func (l *namespaceLifecycle) get(ctx context.Context, name string) (*corev1.Namespace, error) {
	obj, err := l.namespaces.Get(request.WithRequestInfo(ctx, readNamespace), name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return builtin.As[*corev1.Namespace](obj)
}
