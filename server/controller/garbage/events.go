package garbage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// events remembers the created events, as recorders of controllers do: it counts repetitions, merges similar
// events, and pauses for an object that has too many.
type events struct {
	once       sync.Once
	correlator *record.EventCorrelator
}

func (e *events) correlate(event *corev1.Event) (*record.EventCorrelateResult, error) {
	e.once.Do(func() { e.correlator = record.NewEventCorrelatorWithOptions(record.CorrelatorOptions{}) })
	return e.correlator.EventCorrelate(event)
}

// tell creates an event about an object that names an owner in another namespace.
func (c *Controller) tell(ctx context.Context, uid, owner id, cause int64) error {
	c.mu.Lock()
	n := c.index.byUID[uid]
	if n == nil {
		c.mu.Unlock()
		return nil
	}
	key := n.key
	c.mu.Unlock()
	o, err := c.readPresent(ctx, uid, key, cause)
	if err != nil || o == nil {
		return err
	}
	t := c.targets.ofKind(c.storages, corev1.SchemeGroupVersion.WithKind("Event"))
	if t == nil {
		return nil // events are not served
	}
	for i := range o.owners {
		if idOf(o.owners[i].UID) != owner {
			continue
		}
		result, err := c.events.correlate(invalidNamespace(o, &o.owners[i], time.Now()))
		if err != nil || result.Skip {
			return err
		}
		written, err := c.writeEvent(ctx, t, result.Event, o.cause)
		if apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			return nil // another one would fare no better: its namespace is going
		}
		if err == nil {
			c.events.correlator.UpdateState(written)
		}
		return err
	}
	return nil
}

// writeEvent updates the count of an existing event, or creates the event.
func (c *Controller) writeEvent(ctx context.Context, t *target, event *corev1.Event, cause int64) (*corev1.Event, error) {
	if event.Count > 1 {
		counted, err := c.countEvent(ctx, t, event, cause)
		if !apierrors.IsNotFound(err) {
			return counted, err
		}
		event.ResourceVersion = "" // it has expired
	}
	return c.createEvent(ctx, t, event, cause)
}

var ownerElsewhere = trace.Because("owner-elsewhere",
	"it names an owner that is not in its namespace",
	"它引用的属主不在它的命名空间中")

func (c *Controller) createEvent(ctx context.Context, t *target, event *corev1.Event, cause int64) (_ *corev1.Event, err error) {
	storage, ok := t.storage.(rest.Creater)
	if !ok {
		return nil, errors.New("events can't be created")
	}
	ctx, end := c.writer.Begin(ctx, work.Write{
		Verb: "create", Resource: t.resource, Namespace: event.Namespace, Cause: cause, Why: newDecision(ownerElsewhere),
	})
	defer end(&err)
	made, err := c.writer.Create(ctx, storage, event.Name, event)
	return asEvent(made, err)
}

// countEvent writes the changes that a repeated or similar event makes.
func (c *Controller) countEvent(ctx context.Context, t *target, event *corev1.Event, cause int64) (_ *corev1.Event, err error) {
	storage, ok := t.storage.(rest.Updater)
	if !ok {
		return nil, errors.New("events can't be updated")
	}
	next := func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		is, err := asEvent(old, nil)
		if err != nil {
			return nil, err
		}
		next := is.DeepCopy()
		next.Count, next.LastTimestamp, next.Message = event.Count, event.LastTimestamp, event.Message
		return next, nil
	}
	ctx, end := c.writer.Begin(ctx, work.Write{
		Verb: "update", Resource: t.resource, Namespace: event.Namespace, Name: event.Name, Cause: cause, Why: newDecision(ownerElsewhere),
	})
	defer end(&err)
	updated, err := c.writer.Update(ctx, storage, event.Name, rest.DefaultUpdatedObjectInfo(nil, next))
	return asEvent(updated, err)
}

func asEvent(obj runtime.Object, err error) (*corev1.Event, error) {
	if err != nil {
		return nil, err
	}
	return builtin.As[*corev1.Event](obj)
}

// invalidNamespace returns the event in kube-controller-manager's form.
func invalidNamespace(o *object, r *metav1.OwnerReference, now time.Time) *corev1.Event {
	namespace := o.namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	at := metav1.NewTime(now)
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", o.name, now.UnixNano()), Namespace: namespace},
		InvolvedObject: corev1.ObjectReference{Kind: o.kind, APIVersion: o.apiVersion, Namespace: o.namespace, Name: o.name, UID: o.uid},
		Reason:         "OwnerRefInvalidNamespace",
		Message: fmt.Sprintf("ownerRef [%s/%s, namespace: %s, name: %s, uid: %s] does not exist in namespace %q",
			r.APIVersion, r.Kind, o.namespace, r.Name, r.UID, o.namespace),
		Source:              corev1.EventSource{Component: component},
		ReportingController: component,
		FirstTimestamp:      at, LastTimestamp: at, Count: 1, Type: corev1.EventTypeWarning,
	}
}
