package server_test

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/request"
)

// resource is one that the server says it has.
type resource struct {
	schema.GroupVersionResource
	metav1.APIResource
}

func (r *resource) kind() schema.GroupVersionKind {
	return r.GroupVersionResource.GroupVersion().WithKind(r.Kind)
}

// builtins are the server's resources, without subresources and those of clients that client-go does not have.
func (r *running) builtins(t *testing.T, verbs ...string) (all []resource) {
	t.Helper()
	_, lists, err := r.admin(t).Discovery().ServerGroupsAndResources()
	must(t, err)
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: verbs}, lists) {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		must(t, err)
		for _, served := range list.APIResources {
			entry := resource{gv.WithResource(served.Name), served}
			if clientscheme.Scheme.Recognizes(entry.kind()) && !strings.Contains(served.Name, "/") {
				all = append(all, entry)
			}
		}
	}
	return all
}

// typedClient is the part of a clientset that is for one resource, whatever its types: a call of its methods by their names.
type typedClient struct{ reflect.Value }

// typedFor finds the method of a clientset that has the group and version, and that one's method that has the resource.
func typedFor(c *kubernetes.Clientset, entry resource, namespace string) (typedClient, bool) {
	set := reflect.ValueOf(c)
	for _, method := range set.Methods() {
		if method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
			continue
		}
		group := method.Call(nil)[0]
		client, ok := group.Interface().(interface{ RESTClient() rest.Interface })
		if !ok || client.RESTClient() == nil || client.RESTClient().APIVersion() != entry.GroupVersionResource.GroupVersion() {
			continue
		}
		for m, of := range group.Methods() {
			if strings.EqualFold(m.Name, entry.GroupVersionResource.Resource) {
				var args []reflect.Value
				if entry.Namespaced {
					args = append(args, reflect.ValueOf(namespace))
				}
				return typedClient{of.Call(args)[0]}, true
			}
		}
	}
	return typedClient{}, false
}

// call calls a method and returns what it does beside the error.
func (c typedClient) call(t *testing.T, method string, args ...any) any {
	t.Helper()
	out, err := c.try(t, method, args...)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return out
}

func (c typedClient) try(t *testing.T, method string, args ...any) (out any, err error) {
	t.Helper()
	values := []reflect.Value{reflect.ValueOf(within(t))}
	for _, arg := range args {
		values = append(values, reflect.ValueOf(arg))
	}
	results := c.MethodByName(method).Call(values)
	err, _ = results[len(results)-1].Interface().(error)
	return results[0].Interface(), err
}

// sampleOf is an object of a kind as its Go type.
func sampleOf(t *testing.T, gvk schema.GroupVersionKind, namespace, name string) metav1.Object {
	t.Helper()
	body, known := request.Sample(request.Kind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind})
	if !known {
		return nil
	}
	obj, err := clientscheme.Scheme.New(gvk)
	must(t, err)
	must(t, yaml.Unmarshal([]byte(strings.NewReplacer("NAMESPACE", namespace, "NAME", name).Replace(body)), obj))
	m := obj.(metav1.Object)
	if m.GetName() == "" {
		m.SetName(name)
	}
	return m
}

// TestTypedClients goes through the verbs of every typed client that client-go has, in each media type.
func TestTypedClients(t *testing.T) {
	r := shared(t)
	for name, mediaType := range map[string]string{"json": runtime.ContentTypeJSON, "protobuf": runtime.ContentTypeProtobuf} {
		t.Run(name, func(t *testing.T) {
			ns := r.namespace(t, "typed-"+name)
			config := rest.CopyConfig(r.config)
			config.ContentType, config.AcceptContentTypes = mediaType, mediaType
			config.WarningHandler = rest.NoWarnings{}
			c, err := kubernetes.NewForConfig(config)
			must(t, err)
			asked := 0
			for _, entry := range r.builtins(t, "create", "get", "list", "watch", "update", "patch", "delete") {
				if entry.GroupVersionResource.Resource == "flowschemas" {
					continue // the server writes its condition meanwhile
				}
				client, typed := typedFor(c, entry, ns)
				obj := sampleOf(t, entry.kind(), ns, "typed-"+name)
				if !typed || obj == nil {
					continue
				}
				asked++
				t.Run(entry.GroupVersionResource.Resource+"."+entry.GroupVersionResource.Group, func(t *testing.T) { client.verbs(t, obj) })
			}
			if asked < 50 {
				t.Errorf("%d typed clients were tried", asked)
			}
		})
	}
}

// verbs asks for everything that a client can of one object.
func (c typedClient) verbs(t *testing.T, obj metav1.Object) {
	made := c.call(t, "Create", obj, metav1.CreateOptions{}).(metav1.Object)
	one := metav1.ListOptions{FieldSelector: "metadata.name=" + made.GetName(), ResourceVersion: made.GetResourceVersion()}
	events := c.call(t, "Watch", one).(watch.Interface)
	defer events.Stop()
	got := c.call(t, "Get", made.GetName(), metav1.GetOptions{}).(metav1.Object)
	if made.GetUID() == "" || !reflect.DeepEqual(got, made) {
		t.Errorf("created %+v, got %+v", made, got)
	}
	got.SetLabels(map[string]string{"updated": "yes"})
	updated := c.call(t, "Update", got, metav1.UpdateOptions{}).(metav1.Object)
	patched := c.call(t, "Patch", made.GetName(), types.MergePatchType, []byte(`{"metadata":{"annotations":{"patched":"yes"}}}`),
		metav1.PatchOptions{}).(metav1.Object)
	if updated.GetLabels()["updated"] != "yes" || patched.GetLabels()["updated"] != "yes" || patched.GetAnnotations()["patched"] != "yes" {
		t.Errorf("updated %+v, patched %+v", updated, patched)
	}
	for _, want := range []metav1.Object{updated, patched} {
		if e := <-events.ResultChan(); e.Type != watch.Modified || e.Object.(metav1.Object).GetResourceVersion() != want.GetResourceVersion() {
			t.Errorf("watched %+v, want %s", e, want.GetResourceVersion())
		}
	}
	list := c.call(t, "List", metav1.ListOptions{LabelSelector: "updated=yes"}).(runtime.Object)
	if meta.LenList(list) != 1 {
		t.Errorf("listed %+v", list)
	}
	c.delete(t, made.GetName(), events)
}

// delete deletes what nothing here needs: finalizers are as good as done, but for the one by which a Job and a ReplicationController
// orphan their pods. The garbage collector does that one.
func (c typedClient) delete(t *testing.T, name string, events watch.Interface) {
	_, err := c.try(t, "Delete", name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	must(t, err)
	left, err := c.try(t, "Get", name, metav1.GetOptions{})
	finalizers := func() []string { return left.(metav1.Object).GetFinalizers() }
	if err == nil && len(finalizers()) > 0 && !slices.Equal(finalizers(), []string{metav1.FinalizerOrphanDependents}) {
		c.call(t, "Patch", name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	}
	for e := range events.ResultChan() {
		if e.Type == watch.Deleted {
			break
		}
	}
	if _, err := c.try(t, "Get", name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after its deletion: %v", err)
	}
}

// eachWay runs a test with informers that begin with a watch, and with informers that list first.
func eachWay(t *testing.T, test func(t *testing.T, r *running, began func() bool)) {
	for name, on := range map[string]bool{"watch list": true, "list and watch": false} {
		t.Run(name, func(t *testing.T) {
			clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, on)
			var lists, watchLists atomic.Int32
			r := *shared(t)
			r.config = rest.CopyConfig(r.config)
			r.config.WarningHandler = rest.NoWarnings{}
			r.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(req *http.Request) (*http.Response, error) {
					switch query := req.URL.Query(); {
					case query.Get("sendInitialEvents") == "true":
						watchLists.Add(1)
					case query.Get("resourceVersion") == "0" && query.Get("watch") == "":
						lists.Add(1)
					}
					return next.RoundTrip(req)
				})
			})
			test(t, &r, func() bool { return on == (watchLists.Load() > 0) && on == (lists.Load() == 0) })
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// TestInformersOfAllKinds fills an informer of every resource that can be watched.
func TestInformersOfAllKinds(t *testing.T) {
	eachWay(t, func(t *testing.T, r *running, began func() bool) {
		ns := r.namespace(t, "allkinds")
		c := r.admin(t)
		_, err := c.CoreV1().ConfigMaps(ns).Create(within(t), &corev1.ConfigMap{ObjectMeta: named("one")}, metav1.CreateOptions{})
		must(t, err)
		stop := make(chan struct{})
		f := informers.NewSharedInformerFactory(c, 0)
		informed := 0
		for _, entry := range r.builtins(t, "list", "watch") {
			if _, err := f.ForResource(entry.GroupVersionResource); err == nil {
				informed++
			}
		}
		f.Start(stop)
		defer f.Shutdown()
		defer close(stop)
		for kind, filled := range f.WaitForCacheSync(within(t).Done()) {
			if !filled {
				t.Errorf("the informer of %v did not begin", kind)
			}
		}
		if informed < 50 || !began() {
			t.Errorf("%d informers, which began otherwise than meant", informed)
		}
		if _, err := f.Core().V1().ConfigMaps().Lister().ConfigMaps(ns).Get("one"); err != nil {
			t.Error(err)
		}
	})
}

// TestRESTMapper maps every kind to its resource and back, and a custom one as soon as it is defined.
func TestRESTMapper(t *testing.T) {
	r := shared(t)
	cached := memory.NewMemCacheClient(r.admin(t).Discovery())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	for _, entry := range r.builtins(t) {
		gvk, scope := entry.kind(), meta.RESTScopeNameRoot
		if entry.Namespaced {
			scope = meta.RESTScopeNameNamespace
		}
		m, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil || m.Resource.Group != gvk.Group || m.Scope.Name() != scope {
			t.Errorf("%v is %+v: %v", gvk, m, err)
		}
		if kinds, err := mapper.KindsFor(entry.GroupVersionResource); err != nil || !slices.Contains(kinds, gvk) {
			t.Errorf("%v is of the kinds %v: %v", entry.GroupVersionResource, kinds, err)
		}
		if plural, err := mapper.ResourceSingularizer(entry.GroupVersionResource.Resource); err != nil || entry.SingularName != "" && plural != entry.SingularName {
			t.Errorf("the singular of %v is %q: %v", entry.GroupVersionResource, plural, err)
		}
	}
	// Without a version it is the preferred one.
	if m, err := mapper.RESTMapping(schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}); err != nil || m.GroupVersionKind.Version != "v2" {
		t.Errorf("autoscalers are %+v: %v", m, err)
	}
	crd := cronTab("mapper.example.com")
	kind := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
	if _, err := mapper.RESTMapping(kind); !meta.IsNoMatchError(err) {
		t.Errorf("before its definition: %v", err)
	}
	r.define(t, crd)
	defer r.undefine(t, crd.Name)
	until(t, "the custom kind is mapped", func() bool {
		m, err := mapper.RESTMapping(kind)
		if meta.IsNoMatchError(err) {
			mapper.Reset()
			return false
		}
		return err == nil && m.Resource.Resource == crd.Spec.Names.Plural
	})
}

// TestScaleClient scales one of every kind that can be.
func TestScaleClient(t *testing.T) {
	r, ctx := shared(t), within(t)
	ns := r.namespace(t, "scales")
	crd := cronTab("scales.example.com")
	r.define(t, crd)
	defer r.undefine(t, crd.Name)
	c := r.admin(t)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Discovery()))
	scales, err := scale.NewForConfig(r.config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(c.Discovery()))
	must(t, err)
	gv := schema.GroupVersion{Group: crd.Spec.Group, Version: crd.Spec.Versions[0].Name}
	_, err = r.dynamic(t).Resource(gv.WithResource(crd.Spec.Names.Plural)).Namespace(ns).Create(ctx, tab(gv, ns, "s"), metav1.CreateOptions{})
	must(t, err)
	resources := []schema.GroupVersionResource{gv.WithResource(crd.Spec.Names.Plural)}
	for _, entry := range r.builtins(t, "create") {
		if !slices.Contains([]string{"deployments", "replicasets", "statefulsets", "replicationcontrollers"}, entry.GroupVersionResource.Resource) || strings.HasPrefix(entry.GroupVersionResource.Version, "v1beta") {
			continue
		}
		resources = append(resources, entry.GroupVersionResource)
		client, _ := typedFor(c, entry, ns)
		client.call(t, "Create", sampleOf(t, entry.kind(), ns, "s"), metav1.CreateOptions{})
	}
	if len(resources) != 5 {
		t.Fatalf("those that can be scaled are %v", resources)
	}
	for _, gvr := range resources {
		s, err := scales.Scales(ns).Get(ctx, gvr.GroupResource(), "s", metav1.GetOptions{})
		must(t, err)
		before := s.ResourceVersion
		s.Spec.Replicas = 7
		s, err = scales.Scales(ns).Update(ctx, gvr.GroupResource(), s, metav1.UpdateOptions{})
		must(t, err)
		if s.Spec.Replicas != 7 || s.ResourceVersion == before {
			t.Errorf("%v scaled to %+v", gvr, s)
		}
		s.ResourceVersion = before
		if _, err := scales.Scales(ns).Update(ctx, gvr.GroupResource(), s, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("%v scaled from an old state: %v", gvr, err)
		}
		s, err = scales.Scales(ns).Patch(ctx, gvr, "s", types.MergePatchType, []byte(`{"spec":{"replicas":2}}`), metav1.PatchOptions{})
		if err != nil || s.Spec.Replicas != 2 {
			t.Errorf("%v patched to %+v: %v", gvr, s, err)
		}
	}
}

// TestLeaderElection has two candidates: the second leads when the first lets go, and takes the lease of one that died.
func TestLeaderElection(t *testing.T) {
	t.Parallel()
	r := shared(t)
	ns := r.namespace(t, "elections")
	first, second, third := r.candidate(t, ns, "first", true), r.candidate(t, ns, "second", false), r.candidate(t, ns, "third", true)
	first.run()
	first.leads(t)
	second.run()
	until(t, "the second knows who leads", func() bool { return second.elector.GetLeader() == "first" })
	first.end()
	second.leads(t)
	third.run()
	until(t, "the third knows who leads", func() bool { return third.elector.GetLeader() == "second" })
	second.end() // without letting go
	third.leads(t)
	lease, err := r.admin(t).CoordinationV1().Leases(ns).Get(within(t), "election", metav1.GetOptions{})
	must(t, err)
	// One that lets go counts as a transition of its own.
	if *lease.Spec.HolderIdentity != "third" || *lease.Spec.LeaseTransitions < 2 {
		t.Errorf("the lease is %+v", lease.Spec)
	}
	third.end()
}

// candidate wants to lead.
type candidate struct {
	elector *leaderelection.LeaderElector
	ctx     context.Context
	cancel  context.CancelFunc
	led     chan struct{}
	ended   chan struct{}
}

func (r *running) candidate(t *testing.T, ns, name string, letsGo bool) *candidate {
	t.Helper()
	c := &candidate{led: make(chan struct{}), ended: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	client := r.admin(t)
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, ns, "election", client.CoreV1(), client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: name})
	must(t, err)
	// A leader keeps its lease on a slow machine too. The lease of one that died is awaited, but the test holds whenever it ends.
	c.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 5 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: 100 * time.Millisecond, ReleaseOnCancel: letsGo,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { close(c.led) }, OnStoppedLeading: func() {}},
	})
	must(t, err)
	return c
}

func (c *candidate) run() {
	go func() {
		defer close(c.ended)
		c.elector.Run(c.ctx)
	}()
}

func (c *candidate) leads(t *testing.T) {
	t.Helper()
	select {
	case <-c.led:
	case <-within(t).Done():
		t.Fatal("it does not come to lead")
	}
}

// end waits until it is no candidate any more.
func (c *candidate) end() {
	c.cancel()
	<-c.ended
}
