package controller_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

func TestNamespaceSystem(t *testing.T) {
	t.Parallel()
	clients, _ := controllertest.Serve(t, withoutFixtures(), "")
	c := namespaceCluster{clients.Clientset, t}
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		ns, err := c.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || ns.Status.Phase != corev1.NamespaceActive || ns.Labels["kubernetes.io/metadata.name"] != name ||
			len(ns.Spec.Finalizers) != 1 {
			t.Errorf("%s at the start: %+v, %v", name, ns, err)
		}
	}
	// The one of them that may be deleted comes back.
	was, err := c.CoreV1().Namespaces().Get(t.Context(), "kube-node-lease", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.remove("kube-node-lease")
	c.until("kube-node-lease", func(ns *corev1.Namespace) bool { return ns != nil && ns.UID != was.UID })
}

func TestNamespaceStopLeavesNoGoroutine(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	clients, stop := controllertest.Serve(t, withoutFixtures(), "")
	c := namespaceCluster{clients.Clientset, t}
	c.namespace("a")
	c.configMap("a", "held", finalizer)
	c.remove("a")
	c.until("a", saysNamespace(corev1.NamespaceContentRemaining, "Some resources are remaining: configmaps. has 1 resource instances"))
	stop()
}

// fill makes one object of each resource in a namespace.
func (c namespaceCluster) fill(ns string) {
	c.t.Helper()
	ctx, meta, options := c.t.Context(), metav1.ObjectMeta{Name: "o"}, metav1.CreateOptions{}
	labels := map[string]string{"a": "b"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	c.configMap(ns, "o")
	c.pod(ns, "o", "")
	var errs [6]error
	_, errs[0] = c.CoreV1().Secrets(ns).Create(ctx, &corev1.Secret{ObjectMeta: meta}, options)
	_, errs[1] = c.CoreV1().ServiceAccounts(ns).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, options)
	_, errs[2] = c.CoreV1().Services(ns).Create(ctx, &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}, options)
	_, errs[3] = c.CoreV1().Events(ns).Create(ctx, &corev1.Event{ObjectMeta: meta, InvolvedObject: corev1.ObjectReference{Namespace: ns}}, options)
	_, errs[4] = c.AppsV1().Deployments(ns).Create(ctx, &appsv1.Deployment{ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template}}, options)
	_, errs[5] = c.AppsV1().ReplicaSets(ns).Create(ctx, &appsv1.ReplicaSet{ObjectMeta: meta,
		Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template}}, options)
	for i, err := range errs {
		if err != nil {
			c.t.Fatal(i, err)
		}
	}
}

// count is how many objects there are in a namespace, whether it exists or not.
func (c namespaceCluster) count(ns string) (n int) {
	c.t.Helper()
	lists := must[[]*metav1.APIResourceList](c.t)(c.Discovery().ServerPreferredNamespacedResources())
	for _, list := range lists {
		path := "/apis/" + list.GroupVersion
		if list.GroupVersion == "v1" {
			path = "/api/v1"
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") {
				continue // a review: there are none
			}
			var got metav1.PartialObjectMetadataList
			err := c.RESTClient().Get().AbsPath(path, "namespaces", ns, r.Name).SetHeader("Accept", "application/json").Do(c.t.Context()).Into(&got)
			if err != nil {
				c.t.Fatal(r.Name, err)
			}
			n += len(got.Items)
		}
	}
	return n
}

func TestNamespaceGoesWithItsContent(t *testing.T) {
	t.Parallel()
	c, a := sharedNamespaces(t)
	c.namespace(a)
	c.namespace(a + "-b") // its keys begin with those of the first, but for the slash
	c.fill(a)
	c.fill(a + "-b")
	// Two groups have the event.
	if n := c.count(a); n != 9 {
		t.Fatalf("%d objects, and each resource should have one", n)
	}
	c.remove(a)
	c.until(a, isGone)
	if n := c.count(a); n != 0 {
		t.Errorf("%d objects outlived their namespace", n)
	}
	if n := c.count(a + "-b"); n != 9 {
		t.Errorf("of the other namespace's objects %d are left", n)
	}
	// Its name may be had again.
	c.namespace(a)
	c.fill(a)
}

func TestNamespaceFinalizersOfContent(t *testing.T) {
	t.Parallel()
	c, a := sharedNamespaces(t)
	c.namespace(a)
	c.configMap(a, "one", "example.com/x", "example.com/y")
	c.configMap(a, "two", "example.com/x")
	c.configMap(a, "free")
	c.remove(a)
	const both = "Some content in the namespace has finalizers remaining: example.com/x in 2 resource instances, example.com/y in 1 resource instances"
	c.until(a, saysNamespace(corev1.NamespaceFinalizersRemaining, both))
	ns := must[*corev1.Namespace](t)(c.CoreV1().Namespaces().Get(t.Context(), a, metav1.GetOptions{}))
	want := []corev1.NamespaceCondition{
		{Type: "NamespaceDeletionDiscoveryFailure", Status: "False", Reason: "ResourcesDiscovered", Message: "All resources successfully discovered"},
		{Type: "NamespaceDeletionGroupVersionParsingFailure", Status: "False", Reason: "ParsedGroupVersions", Message: "All legacy kube types successfully parsed"},
		{Type: "NamespaceDeletionContentFailure", Status: "False", Reason: "ContentDeleted", Message: "All content successfully deleted, may be waiting on finalization"},
		{Type: "NamespaceContentRemaining", Status: "True", Reason: "SomeResourcesRemain", Message: "Some resources are remaining: configmaps. has 2 resource instances"},
		{Type: "NamespaceFinalizersRemaining", Status: "True", Reason: "SomeFinalizersRemain", Message: both},
	}
	got := ns.DeepCopy().Status.Conditions
	for i := range got {
		if got[i].LastTransitionTime.IsZero() {
			t.Errorf("%s has no time", got[i].Type)
		}
		got[i].LastTransitionTime = metav1.Time{}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("conditions\n%v\nwant\n%v", got, want)
	}
	c.releaseConfigMap(a, "two")
	c.until(a, saysNamespace(corev1.NamespaceContentRemaining, "Some resources are remaining: configmaps. has 1 resource instances"))
	c.releaseConfigMap(a, "one")
	c.until(a, isGone)
}

func TestNamespacePodsGoFirst(t *testing.T) {
	t.Parallel()
	c, a := sharedNamespaces(t)
	c.namespace(a)
	c.pod(a, "held", "", finalizer)
	c.configMap(a, "needed")
	c.remove(a)
	c.until(a, saysNamespace(corev1.NamespaceContentRemaining, "Some resources are remaining: pods. has 1 resource instances"))
	cm := must[*corev1.ConfigMap](t)(c.CoreV1().ConfigMaps(a).Get(t.Context(), "needed", metav1.GetOptions{}))
	if cm.DeletionTimestamp != nil {
		t.Error("a config map was deleted before the pods were gone")
	}
	must[*corev1.Pod](t)(c.CoreV1().Pods(a).Patch(t.Context(), "held", types.MergePatchType, withoutFinalizers, metav1.PatchOptions{}))
	c.until(a, isGone)
}

// TestNamespaceScheduledPods has nobody who would confirm that a pod has stopped.
func TestNamespaceScheduledPods(t *testing.T) {
	t.Parallel()
	c, a := sharedNamespaces(t)
	c.namespace(a)
	c.pod(a, "scheduled", "node")
	c.pod(a, "unscheduled", "")
	c.remove(a)
	c.until(a, func(ns *corev1.Namespace) bool {
		// Its time has not run out: that is no failure.
		return saysNamespace(corev1.NamespaceContentRemaining, "Some resources are remaining: pods. has 1 resource instances")(ns) &&
			ns.Status.Conditions[2].Status == corev1.ConditionFalse
	})
	pod := must[*corev1.Pod](t)(c.CoreV1().Pods(a).Get(t.Context(), "scheduled", metav1.GetOptions{}))
	if pod.DeletionTimestamp == nil || *pod.DeletionGracePeriodSeconds != 30 {
		t.Errorf("the scheduled pod is %+v", pod.ObjectMeta)
	}
	if err := c.CoreV1().Pods(a).Delete(t.Context(), "scheduled", *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	c.until(a, isGone)
}

// TestNamespaceOverduePod has a pod that should have stopped at once.
func TestNamespaceOverduePod(t *testing.T) {
	t.Parallel()
	c, a := sharedNamespaces(t)
	c.namespace(a)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
		NodeName: "node", TerminationGracePeriodSeconds: new(int64(1)), Containers: []corev1.Container{{Name: "c", Image: "i"}},
	}}
	must[*corev1.Pod](t)(c.CoreV1().Pods(a).Create(t.Context(), pod, metav1.CreateOptions{}))
	c.remove(a)
	c.until(a, saysNamespace(corev1.NamespaceDeletionContentFailure,
		"Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: "+a+" for gvr: /v1, Resource=pods"))
	if err := c.CoreV1().Pods(a).Delete(t.Context(), "p", *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	c.until(a, isGone)
}

// TestNamespaceFinalizersOfOthers has a namespace that is kept by a finalizer of somebody else.
func TestNamespaceFinalizersOfOthers(t *testing.T) {
	t.Parallel()
	c, a := sharedNamespaces(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a}, Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{"example.com/mine"}}}
	must[*corev1.Namespace](t)(c.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}))
	c.configMap(a, "o")
	c.remove(a)
	c.until(a, func(ns *corev1.Namespace) bool {
		return ns != nil && len(ns.Spec.Finalizers) == 1 && ns.Spec.Finalizers[0] == "example.com/mine"
	})
	if n := c.count(a); n != 0 {
		t.Errorf("%d objects are left", n)
	}
	ns = must[*corev1.Namespace](t)(c.CoreV1().Namespaces().Get(t.Context(), a, metav1.GetOptions{}))
	ns.Spec.Finalizers = nil
	must[*corev1.Namespace](t)(c.CoreV1().Namespaces().Finalize(t.Context(), ns, metav1.UpdateOptions{}))
	c.until(a, isGone)
}

// TestNamespaceRestart stops a server while a namespace is ending.
func TestNamespaceRestart(t *testing.T) {
	t.Parallel()
	dir := controllertest.ShortDir(t)
	clients, stop := controllertest.Serve(t, withoutFixtures(), dir)
	c := namespaceCluster{clients.Clientset, t}
	c.namespace("a")
	c.configMap("a", "held", finalizer)
	c.remove("a")
	c.until("a", saysNamespace(corev1.NamespaceContentRemaining, "Some resources are remaining: configmaps. has 1 resource instances"))
	stop()
	clients, _ = controllertest.Serve(t, withoutFixtures(), dir)
	c = namespaceCluster{clients.Clientset, t}
	c.releaseConfigMap("a", "held")
	c.until("a", isGone)
}

// TestNamespaceTwo has two servers empty the same namespaces at the same time, while their names are used again.
func TestNamespaceTwo(t *testing.T) {
	t.Parallel()
	const names, rounds, objects = 4, 3, 5
	a, _ := controllertest.Serve(t, withoutFixtures(), "")
	b, _ := controllertest.Serve(t, withoutFixtures(), "", a.Etcd.Endpoints()...)
	for i := range names {
		name := fmt.Sprint("n-", i)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, other := namespaceCluster{a.Clientset, t}, namespaceCluster{b.Clientset, t}
			for range rounds {
				c.namespace(name)
				for k := range objects {
					other.configMap(name, fmt.Sprint("o-", k))
				}
				if n := c.count(name); n != objects {
					t.Errorf("%s has %d objects: one of its own was deleted, or an old one was not", name, n)
				}
				c.remove(name)
				other.until(name, isGone)
				if n := c.count(name); n != 0 {
					t.Errorf("%d objects outlived %s", n, name)
				}
			}
		})
	}
}

// TestNamespaceCreationsWhileItEnds has many create through one server what another server deletes the namespace of: what was
// let in goes with it, and nothing is left.
func TestNamespaceCreationsWhileItEnds(t *testing.T) {
	t.Parallel()
	const creators, before = 16, 200
	a, _ := controllertest.Serve(t, withoutFixtures(), "")
	b, _ := controllertest.Serve(t, withoutFixtures(), "", a.Etcd.Endpoints()...)
	c, other := namespaceCluster{a.Clientset, t}, namespaceCluster{b.Clientset, t}
	c.namespace("x")
	var created atomic.Int64
	var creating sync.WaitGroup
	for i := range creators {
		creating.Go(func() {
			for n := 0; ; n++ {
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("o-%d-%d", i, n)}}
				_, err := c.CoreV1().ConfigMaps("x").Create(t.Context(), object, metav1.CreateOptions{})
				if apierrors.IsNotFound(err) {
					return
				}
				if err != nil && !apierrors.IsForbidden(err) {
					t.Error(err)
					return
				}
				if created.Add(1) == before {
					other.remove("x")
				}
			}
		})
	}
	creating.Wait()
	other.until("x", isGone)
	if n := other.count("x"); n != 0 {
		t.Errorf("%d of %d objects outlived their namespace", n, created.Load())
	}
}
