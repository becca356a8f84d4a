package controllerruntime

import (
	"context"
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// direct is a client without a cache, on a server that has the definition of greetings and their namespace.
func direct(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{Scheme: scheme()})
	must(t, err)
	ctx := within(t)
	must(t, c.Create(ctx, definition()))
	must(t, c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	// A kube-apiserver lets some time pass between a definition and its resource.
	until(t, "greetings are served", func() bool { return c.List(ctx, &GreetingList{}) == nil })
	return c
}

// TestManager has an operator at work on a server that is killed and started again.
func TestManager(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, p *process, config *rest.Config) {
		ctx, c := within(t), direct(t, config)
		o := &operator{config: config, renew: 2 * time.Second, gone: map[types.UID]bool{}}
		o.run(t)
		w := &world{T: t, Client: c, ctx: ctx, operator: o}
		w.work()
		w.restart(p)
	})
}

// world is a server, its operator and a user.
type world struct {
	*testing.T
	client.Client
	ctx      context.Context
	operator *operator
}

func key(name string) client.ObjectKey { return client.ObjectKey{Namespace: namespace, Name: name} }

func (w *world) settled(name string) {
	w.Helper()
	var err error
	defer func() {
		if w.Failed() {
			w.Logf("%s: %v", name, err)
		}
	}()
	until(w.T, "the operator has done its work for "+name, func() bool {
		err = settled(w.ctx, w.Client, name)
		return err == nil
	})
}

func (w *world) absent(name string, obj client.Object) {
	w.Helper()
	until(w.T, name+" is gone", func() bool { return apierrors.IsNotFound(w.Get(w.ctx, key(name), obj)) })
}

// work lets the operator meet all that can happen to its objects.
func (w *world) work() {
	w.Helper()
	for i := range 3 {
		must(w.T, w.Create(w.ctx, greeting(fmt.Sprintf("g%d", i), "hello", "red")))
	}
	for i := range 3 {
		w.settled(fmt.Sprintf("g%d", i))
	}
	g := &Greeting{}
	must(w.T, w.Get(w.ctx, key("g0"), g))
	w.owns(g)

	// What is the operator's is made again if somebody else deletes or changes it.
	card := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "g0"}}
	must(w.T, w.Delete(w.ctx, card))
	must(w.T, w.Patch(w.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "g1"}},
		client.RawPatch(types.MergePatchType, []byte(`{"data":{"text":"something else"}}`))))
	w.settled("g0")
	w.settled("g1")

	// A new spec has a new generation, which the status follows.
	g = &Greeting{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "g2"}}
	must(w.T, w.Patch(w.ctx, g, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"text":"good morning"}}`))))
	if g.Generation != 2 || g.Status.ObservedGeneration != 1 {
		w.Errorf("changed: generation %d, status %+v", g.Generation, g.Status)
	}
	w.settled("g2")

	must(w.T, w.Delete(w.ctx, g))
	w.absent("g2", &Greeting{})
	w.absent("g2", &corev1.ConfigMap{})
	if !w.operator.finalized(g.UID) {
		w.Error("g2 went without its finalizer")
	}
}

// owns checks who has set what: the operator applied the status, and updated the finalizers.
func (w *world) owns(g *Greeting) {
	w.Helper()
	for _, entry := range g.ManagedFields {
		if entry.Manager == owner && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "status" {
			return
		}
	}
	w.Errorf("no entry of %s's status: %+v", owner, g.ManagedFields)
}

// restart kills the server while greetings come and finalizers wait, until the operator leads no more.
func (w *world) restart(p *process) {
	w.Helper()
	w.operator.close(true)
	lost, before := w.operator.leaders(), w.lease()
	must(w.T, w.Delete(w.ctx, &Greeting{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "g0"}}))
	must(w.T, w.Delete(w.ctx, &Greeting{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "g1"}}))

	acknowledged := w.createUntilKilled(p)
	until(w.T, "the operator leads no more", func() bool { return w.operator.leaders() > lost })
	p.start()
	for _, name := range []string{"g0", "g1"} {
		g := &Greeting{}
		must(w.T, w.Get(w.ctx, key(name), g))
		if g.DeletionTimestamp.IsZero() || len(g.Finalizers) != 1 {
			w.Errorf("%s was being deleted: %+v", name, g)
		}
	}
	for _, name := range acknowledged {
		w.settled(name)
	}
	w.operator.close(false)
	for _, name := range []string{"g0", "g1"} {
		w.absent(name, &Greeting{})
		w.absent(name, &corev1.ConfigMap{})
	}
	after := w.lease()
	if *after.Spec.HolderIdentity == *before.Spec.HolderIdentity || *after.Spec.LeaseTransitions <= *before.Spec.LeaseTransitions {
		w.Errorf("the lease was %+v and is %+v", before.Spec, after.Spec)
	}
}

func (w *world) lease() *coordinationv1.Lease {
	w.Helper()
	l := &coordinationv1.Lease{}
	must(w.T, w.Get(w.ctx, key(lease), l))
	return l
}

// createUntilKilled creates greetings, kills the server among them, and returns the names of those that it acknowledged.
func (w *world) createUntilKilled(p *process) (acknowledged []string) {
	w.Helper()
	const enough = 20
	for i := 0; ; i++ {
		name := fmt.Sprintf("k%d", i)
		if err := w.Create(w.ctx, greeting(name, "are you there?", "blue")); err != nil {
			if len(acknowledged) < enough {
				w.Fatalf("create %s: %v", name, err)
			}
			return acknowledged
		}
		acknowledged = append(acknowledged, name)
		if len(acknowledged) == enough {
			go p.kill()
		}
	}
}
