package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	namespace = "greetings"
	finalizer = "example.dev/goodbye"
	owner     = "greeter"
	lease     = "greeter.example.dev"
)

// operator makes a config map of each greeting, says in the greeting's status that it did, and says goodbye to those that go.
// Its manager is started again whenever it ends, as a cluster does with an operator's container.
type operator struct {
	config *rest.Config
	// renew is how long a leader tries to stay one.
	renew time.Duration

	mu sync.Mutex
	// lost counts the managers that were leaders no more.
	lost int
	// ends are why managers ended.
	ends []error
	// gone are the greetings whose finalizer was done.
	gone map[types.UID]bool
	// gate, while it is closed, keeps finalizers waiting.
	gate bool
}

// run keeps a manager running until the test ends. While the server is away, one can't even begin: then the next one tries.
func (o *operator) run(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if t.Failed() {
			t.Logf("the operator's managers ended: %v", errors.Join(o.ends...))
		}
	})
	running.Go(func() {
		for pause := time.NewTicker(50 * time.Millisecond); ctx.Err() == nil; <-pause.C {
			o.ended(o.manage(ctx))
		}
	})
}

// ended notes why a manager did.
func (o *operator) ended(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ends = append(o.ends, err)
	if err != nil && strings.Contains(err.Error(), "leader election lost") {
		o.lost++
	}
}

// manage runs one manager until it ends.
func (o *operator) manage(ctx context.Context) error {
	retry, wait := 200*time.Millisecond, o.renew+time.Second
	manager, err := ctrl.NewManager(o.config, ctrl.Options{
		Scheme: scheme(), Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
		LeaderElection: true, LeaderElectionID: lease, LeaderElectionNamespace: namespace,
		LeaseDuration: &wait, RenewDeadline: &o.renew, RetryPeriod: &retry,
	})
	if err != nil {
		return err
	}
	r := &reconciler{Client: manager.GetClient(), operator: o}
	if err := ctrl.NewControllerManagedBy(manager).Named(owner).For(&Greeting{}).Owns(&corev1.ConfigMap{}).Complete(r); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// reconciler reads from the manager's cache and writes to the server.
type reconciler struct {
	client.Client
	*operator
}

// Reconcile is what controller-runtime calls with each greeting that something has happened to.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	g := &Greeting{}
	if err := r.Get(ctx, request.NamespacedName, g); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	err := r.reconcile(ctx, g)
	// The cache is behind, or a finalizer waits: again later.
	if errors.Is(err, errGate) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: 10 * time.Millisecond}, nil
	}
	return ctrl.Result{}, err
}

func (r *reconciler) reconcile(ctx context.Context, g *Greeting) error {
	if !g.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, g)
	}
	if controllerutil.AddFinalizer(g, finalizer) {
		if err := r.Update(ctx, g); err != nil {
			return err
		}
	}
	card := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: g.Name, Namespace: g.Namespace}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, card, func() error {
		card.Data = map[string]string{"text": g.Spec.Text}
		return controllerutil.SetControllerReference(g, card, r.Scheme())
	}); err != nil {
		return err
	}
	return r.applyStatus(ctx, g)
}

// applyStatus applies the fields of the status that are the operator's.
func (r *reconciler) applyStatus(ctx context.Context, g *Greeting) error {
	since := metav1.Now()
	for _, c := range g.Status.Conditions {
		if c.Type == "Ready" && c.Status == metav1.ConditionTrue {
			since = c.LastTransitionTime
		}
	}
	status := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
		"observedGeneration": g.Generation,
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "Sent", "message": "the card is written",
			"lastTransitionTime": since.UTC().Format(time.RFC3339), "observedGeneration": g.Generation,
		}},
	}}}
	status.SetGroupVersionKind(groupVersion.WithKind("Greeting"))
	status.SetName(g.Name)
	status.SetNamespace(g.Namespace)
	return r.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(status), client.FieldOwner(owner), client.ForceOwnership)
}

// finalize removes the card, which no garbage collector does here, and lets the greeting go.
func (r *reconciler) finalize(ctx context.Context, g *Greeting) error {
	if !controllerutil.ContainsFinalizer(g, finalizer) {
		return nil
	}
	if r.closed() {
		return errGate
	}
	card := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: g.Name, Namespace: g.Namespace}}
	if err := client.IgnoreNotFound(r.Delete(ctx, card)); err != nil {
		return err
	}
	r.mu.Lock()
	r.gone[g.UID] = true
	r.mu.Unlock()
	controllerutil.RemoveFinalizer(g, finalizer)
	return r.Update(ctx, g)
}

// errGate is that a finalizer has to wait.
var errGate = errors.New("the gate is closed")

func (o *operator) closed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.gate
}

// close lets finalizers wait, or no more.
func (o *operator) close(gate bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gate = gate
}

// leaders counts the managers that have lost the lease.
func (o *operator) leaders() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost
}

// finalized is whether a greeting's finalizer was done.
func (o *operator) finalized(uid types.UID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.gone[uid]
}

// settled is why a greeting is not what the operator makes of it; nil if it is.
func settled(ctx context.Context, c client.Client, name string) error {
	g, card := &Greeting{}, &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if err := c.Get(ctx, key, g); err != nil {
		return err
	}
	if err := c.Get(ctx, key, card); err != nil {
		return err
	}
	switch {
	case !controllerutil.ContainsFinalizer(g, finalizer):
		return errors.New("it has no finalizer")
	case g.Status.ObservedGeneration != g.Generation || len(g.Status.Conditions) != 1 || g.Status.Conditions[0].Status != metav1.ConditionTrue:
		return fmt.Errorf("its generation is %d and its status %+v", g.Generation, g.Status)
	case !metav1.IsControlledBy(card, g) || card.Data["text"] != g.Spec.Text:
		return fmt.Errorf("its text is %q, and its card %+v", g.Spec.Text, card)
	}
	return nil
}
