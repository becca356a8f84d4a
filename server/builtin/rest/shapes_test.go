package rest_test

import (
	"context"
	"slices"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corerest "github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/rest"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
	"github.com/kx-apiserver/kx/store/backend"
)

// These are shapes of resources that are not served yet, each as small as it can be.

func valid[T builtin.Object](T) field.ErrorList            { return nil }
func validUpdate[T builtin.Object](_, _ T) field.ErrorList { return nil }

// everything enables what is declared.
type everything struct {
	endpoint.APIResourceConfigSource
}

func (everything) ResourceEnabled(schema.GroupVersionResource) bool { return true }

// codecs stores objects of types that the server's own scheme does not know yet.
type codecs struct {
	backend.RESTOptionsGetter
	scheme *runtime.Scheme
	stored schema.GroupVersion
}

func (c codecs) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (backend.RESTOptions, error) {
	options, err := c.RESTOptionsGetter.GetRESTOptions(resource, example)
	if err == nil {
		config := *options.StorageConfig
		config.Codec = serializer.NewCodecFactory(c.scheme).LegacyCodec(c.stored)
		options.StorageConfig = &config
	}
	return options, err
}

func serveGroups(t *testing.T, etcd *builtintest.Etcd, stored schema.GroupVersion, groups ...builtin.Group) []map[string]map[string]corerest.Storage {
	t.Helper()
	types := runtime.NewScheme()
	for _, group := range groups {
		if err := group.AddToScheme(types); err != nil {
			t.Fatal(err)
		}
	}
	var served []map[string]map[string]corerest.Storage
	for _, group := range groups {
		info, err := rest.RESTStorageProvider{Group: group}.NewRESTStorage(everything{}, codecs{etcd, types, stored})
		if err != nil {
			t.Fatal(err)
		}
		for _, storage := range info.VersionedResourcesStorageMap {
			for _, r := range group.Resources {
				t.Cleanup(storage[r.Name()].Destroy)
			}
		}
		served = append(served, info.VersionedResourcesStorageMap)
	}
	return served
}

func createIn(t *testing.T, storage corerest.Storage, namespace string, obj runtime.Object) {
	t.Helper()
	if _, err := storage.(corerest.Creater).Create(builtintest.Context(t, namespace), obj, nil, &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func wantKeys(t *testing.T, etcd *builtintest.Etcd, want ...string) {
	t.Helper()
	var keys []string
	res, err := etcd.Client.Get(t.Context(), etcd.Prefix+"/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range res.Kvs {
		keys = append(keys, string(kv.Key)[len(etcd.Prefix):])
	}
	if !slices.Equal(keys, want) {
		t.Errorf("etcd has %v, want %v", keys, want)
	}
}

// TestTwoGroupsWithOneStorage: events of both groups are the same objects.
func TestTwoGroupsWithOneStorage(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	events := builtin.Resource[*corev1.Event]{
		Names: builtin.Names{Plural: "events", Singular: "event"}, List: &corev1.EventList{}, Stored: corev1.SchemeGroupVersion,
		Validate: valid[*corev1.Event], ValidateUpdate: validUpdate[*corev1.Event],
		Fields: []builtin.Field[*corev1.Event]{
			{Label: "involvedObject.name", Served: []schema.GroupVersion{corev1.SchemeGroupVersion}, Value: func(e *corev1.Event) string { return e.InvolvedObject.Name }},
			{Label: "regarding.name", Served: []schema.GroupVersion{eventsv1.SchemeGroupVersion}, AliasOf: "involvedObject.name"},
		},
	}
	newer := events
	newer.Served = []schema.GroupVersion{eventsv1.SchemeGroupVersion}
	served := serveGroups(t, etcd, corev1.SchemeGroupVersion,
		builtin.Group{
			Versions:  []builtin.Version{{GroupVersion: corev1.SchemeGroupVersion, Types: corev1.AddToScheme}},
			Resources: []builtin.Declaration{builtin.Declare(events)},
		},
		builtin.Group{
			Versions:  []builtin.Version{{GroupVersion: eventsv1.SchemeGroupVersion, Types: eventsv1.AddToScheme}},
			Resources: []builtin.Declaration{builtin.Declare(newer)},
		})
	createIn(t, served[0]["v1"]["events"], "default", &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	wantKeys(t, etcd, "/events/default/a")
	obj, err := served[1]["v1"]["events"].(corerest.Getter).Get(builtintest.Context(t, "default"), "a", &metav1.GetOptions{})
	if err != nil || obj == nil {
		t.Errorf("events.k8s.io does not have the event: %v", err)
	}
	_, err = served[1]["v1"]["events"].(corerest.Getter).Get(builtintest.Context(t, "default"), "b", &metav1.GetOptions{})
	if err == nil || err.Error() != `events.events.k8s.io "b" not found` {
		t.Error(err)
	}
	types := runtime.NewScheme()
	for _, r := range []builtin.Declaration{builtin.Declare(events), builtin.Declare(newer)} {
		if err := r.AddToScheme(types); err != nil {
			t.Fatal(err)
		}
	}
	for version, label := range map[schema.GroupVersion]string{corev1.SchemeGroupVersion: "involvedObject.name", eventsv1.SchemeGroupVersion: "regarding.name"} {
		for _, ask := range []string{"involvedObject.name", "regarding.name"} {
			to, _, err := types.ConvertFieldLabel(version.WithKind("Event"), ask, "x")
			if (err == nil) != (ask == label) || err == nil && to != "involvedObject.name" {
				t.Errorf("%s %s: %q, %v", version, ask, to, err)
			}
		}
	}
}

// TestStoredVersionIsNotPreferred: autoscaling prefers v2, and could store v1 all the same. Both serve one object.
func TestStoredVersionIsNotPreferred(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	hpas := builtin.Resource[*autoscalingv1.HorizontalPodAutoscaler]{
		Names: builtin.Names{Plural: "horizontalpodautoscalers", Singular: "horizontalpodautoscaler", Short: []string{"hpa"}},
		List:  &autoscalingv1.HorizontalPodAutoscalerList{}, Stored: autoscalingv1.SchemeGroupVersion,
		Served:   []schema.GroupVersion{autoscalingv2.SchemeGroupVersion, autoscalingv1.SchemeGroupVersion},
		Validate: valid[*autoscalingv1.HorizontalPodAutoscaler], ValidateUpdate: validUpdate[*autoscalingv1.HorizontalPodAutoscaler],
		Status: &builtin.Status[*autoscalingv1.HorizontalPodAutoscaler]{
			Of: func(h *autoscalingv1.HorizontalPodAutoscaler) any { return &h.Status },
		},
	}
	served := serveGroups(t, etcd, autoscalingv1.SchemeGroupVersion, builtin.Group{
		Versions: []builtin.Version{
			{GroupVersion: autoscalingv2.SchemeGroupVersion, Types: autoscalingv2.AddToScheme},
			{GroupVersion: autoscalingv1.SchemeGroupVersion, Types: autoscalingv1.AddToScheme},
		},
		Resources: []builtin.Declaration{builtin.Declare(hpas)},
	})[0]
	for _, name := range []string{"horizontalpodautoscalers", "horizontalpodautoscalers/status"} {
		if served["v1"][name] == nil || served["v1"][name] != served["v2"][name] {
			t.Errorf("v1 and v2 have storages of their own for %s", name)
		}
	}
	createIn(t, served["v2"]["horizontalpodautoscalers"], "default", &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	wantKeys(t, etcd, "/horizontalpodautoscalers/default/a")
}

// TestKeysOlderThanNames: nodes are stored as minions.
func TestKeysOlderThanNames(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	nodes := builtin.Resource[*corev1.Node]{
		Names: builtin.Names{Plural: "nodes", Singular: "node", Short: []string{"no"}}, List: &corev1.NodeList{}, ClusterScoped: true,
		Stored: corev1.SchemeGroupVersion, Validate: valid[*corev1.Node], ValidateUpdate: validUpdate[*corev1.Node],
	}
	createIn(t, builtintest.Storages(t, builtin.Declare(nodes), etcd)[""], "", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	wantKeys(t, etcd, "/minions/a")
}

// action is a subresource that is only created, such as pods/binding and pods/eviction.
type action struct {
	kind schema.GroupVersionKind
	obj  runtime.Object
	pods *builtin.REST
}

func (a action) New() runtime.Object                                          { return a.obj.DeepCopyObject() }
func (action) Destroy()                                                       {}
func (a action) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind { return a.kind }
func (a action) Create(ctx context.Context, name string, obj runtime.Object, _ corerest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	return a.pods.Get(ctx, name, &metav1.GetOptions{})
}

// TestActions: pods' binding and eviction are of other kinds, the latter of another group, and reach the pods' storage.
func TestActions(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	sub := func(name string, obj runtime.Object, kind schema.GroupVersionKind) builtin.Sub {
		return builtin.Sub{Name: name, New: builtin.Make(func(pods *builtin.REST) corerest.Storage { return action{kind, obj, pods} })}
	}
	pods := builtin.Resource[*corev1.Pod]{
		Names: builtin.Names{Plural: "pods", Singular: "pod"}, List: &corev1.PodList{}, Stored: corev1.SchemeGroupVersion,
		Validate: valid[*corev1.Pod], ValidateUpdate: validUpdate[*corev1.Pod],
		Sub: []builtin.Sub{
			sub("binding", &corev1.Binding{}, corev1.SchemeGroupVersion.WithKind("Binding")),
			sub("eviction", &policyv1.Eviction{}, policyv1.SchemeGroupVersion.WithKind("Eviction")),
		},
	}
	storages := builtintest.Storages(t, builtin.Declare(pods), etcd)
	createIn(t, storages[""], "default", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	for _, name := range []string{"binding", "eviction"} {
		storage := storages[name].(corerest.NamedCreater)
		obj, err := storage.Create(builtintest.Context(t, "default"), "a", storage.(corerest.Storage).New(), nil, &metav1.CreateOptions{})
		if err != nil || obj == nil {
			t.Errorf("%s does not reach the pod: %v", name, err)
		}
		if _, ok := storages[name].(corerest.GroupVersionKindProvider); !ok {
			t.Errorf("%s does not tell its kind", name)
		}
	}
}
