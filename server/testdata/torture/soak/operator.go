//go:build linux

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"
	metaconfig "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// operators is how many there are, and widgetsMost how many widgets.
const operators, widgetsMost = 3, 150

// changeWidget is what a user does: there are always about as many widgets.
func (c *crowd) changeWidget(ctx context.Context, random *rand.Rand, _ int) error {
	in := c.dynamic.Resource(widgets).Namespace(home)
	name := fmt.Sprintf("widget-%d", random.IntN(widgetsMost))
	spec := map[string]any{"text": strings.Repeat("x", random.IntN(1500)), "count": random.Int64N(100)}
	old, err := in.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "soak.kx.dev/v1", "kind": "Widget",
			"metadata": map[string]any{"name": name, "labels": map[string]any{"half": fmt.Sprint(random.IntN(2))}}, "spec": spec}}
		_, err = in.Create(ctx, u, metav1.CreateOptions{})
	case err == nil && random.IntN(4) == 0:
		err = in.Delete(ctx, name, metav1.DeleteOptions{})
	case err == nil:
		old.Object["spec"] = spec
		_, err = in.Update(ctx, old, metav1.UpdateOptions{})
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // an operator was faster, or the collector
	}
	return err
}

// operator has an informer and a queue, as operators have. For each widget it applies a config map that the widget owns, and says in
// the widget's status which generation it saw.
type operator struct {
	crowd    *crowd
	name     string
	informer cache.SharedIndexInformer
	queue    workqueue.TypedRateLimitingInterface[string]
}

func (c *crowd) newOperator(i int) (*operator, error) {
	o := &operator{crowd: c, name: fmt.Sprintf("operator-%d", i),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](10*time.Millisecond, 10*time.Second))}
	o.informer = dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.dynamic, 0, home, nil).ForResource(widgets).Informer()
	enqueue := func(obj any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			o.queue.Add(key)
		}
	}
	_, err := o.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }, DeleteFunc: enqueue})
	return o, err
}

func (o *operator) run(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.informer.RunWithContext(ctx)
	}()
	stop := context.AfterFunc(ctx, o.queue.ShutDown)
	defer stop()
	for {
		key, shutdown := o.queue.Get()
		if shutdown {
			break
		}
		err := o.reconcile(ctx, key)
		if err == nil {
			o.queue.Forget(key)
		} else {
			o.queue.AddRateLimited(key)
		}
		if err == nil || !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			o.crowd.note(ctx, "widgets seen by operators", err)
		}
		o.queue.Done(key)
	}
	<-done
}

func (o *operator) reconcile(ctx context.Context, key string) error {
	obj, exists, err := o.informer.GetStore().GetByKey(key)
	if err != nil || !exists {
		return err
	}
	widget := obj.(*unstructured.Unstructured)
	name := widget.GetName() + "-" + o.name
	owner := metaconfig.OwnerReference().WithAPIVersion("soak.kx.dev/v1").WithKind("Widget").WithName(widget.GetName()).WithUID(widget.GetUID())
	config := corev1.ConfigMap(name, home).WithOwnerReferences(owner).WithData(map[string]string{"generation": fmt.Sprint(widget.GetGeneration())})
	if _, err := o.crowd.typed.CoreV1().ConfigMaps(home).Apply(ctx, config, metav1.ApplyOptions{FieldManager: o.name, Force: true}); err != nil {
		return err
	}
	if seen, _, _ := unstructured.NestedInt64(widget.Object, "status", "seen"); seen == widget.GetGeneration() {
		return nil
	}
	widget = widget.DeepCopy()
	widget.Object["status"] = map[string]any{"seen": widget.GetGeneration()}
	_, err = o.crowd.dynamic.Resource(widgets).Namespace(home).UpdateStatus(ctx, widget, metav1.UpdateOptions{})
	return err
}
