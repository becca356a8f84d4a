package rest_test

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corerest "github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/all"
	"github.com/kx-apiserver/kx/server/builtin/rest"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

// provider provides the storages of the built-in group of a name.
func provider(name string, needs all.Needs) rest.RESTStorageProvider {
	groups := all.Groups(needs)
	return rest.RESTStorageProvider{Group: groups[slices.IndexFunc(groups, func(g builtin.Group) bool { return g.Name() == name })]}
}

func core(eventTTL time.Duration) endpoint.RESTStorageProvider {
	return provider("", all.Needs{EventTTL: eventTTL})
}

func apps() endpoint.RESTStorageProvider {
	return provider("apps", all.Needs{})
}

func storages(t *testing.T, provider endpoint.RESTStorageProvider, getter backend.RESTOptionsGetter, config map[string]string) endpoint.APIGroupInfo {
	t.Helper()
	source, err := rest.ParseRuntimeConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	group, err := provider.NewRESTStorage(source, getter)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, resources := range group.VersionedResourcesStorageMap {
			for _, s := range resources {
				s.Destroy()
			}
		}
	})
	return group
}

func names(group endpoint.APIGroupInfo) map[string][]string {
	all := map[string][]string{}
	for version, resources := range group.VersionedResourcesStorageMap {
		all[version] = slices.Sorted(maps.Keys(resources))
	}
	return all
}

func TestGroups(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	inCore := []string{
		"bindings", "componentstatuses", "configmaps", "endpoints", "events", "limitranges", "namespaces", "namespaces/finalize",
		"namespaces/status", "nodes", "nodes/proxy", "nodes/status", "persistentvolumeclaims", "persistentvolumeclaims/status",
		"persistentvolumes", "persistentvolumes/status", "pods", "pods/attach", "pods/binding", "pods/ephemeralcontainers", "pods/eviction",
		"pods/exec", "pods/log", "pods/portforward", "pods/proxy", "pods/resize", "pods/status",
		"podtemplates", "replicationcontrollers", "replicationcontrollers/scale", "replicationcontrollers/status",
		"resourcequotas", "resourcequotas/status", "secrets", "serviceaccounts", "serviceaccounts/token", "services", "services/proxy", "services/status",
	}
	deployments := []string{"deployments", "deployments/scale", "deployments/status"}
	inApps := slices.Concat([]string{"controllerrevisions", "daemonsets", "daemonsets/status"}, deployments,
		[]string{"replicasets", "replicasets/scale", "replicasets/status", "statefulsets", "statefulsets/scale", "statefulsets/status"})
	for name, tc := range map[string]struct {
		provider endpoint.RESTStorageProvider
		config   map[string]string
		want     map[string][]string
	}{
		"core": {core(time.Hour), nil, map[string][]string{"v1": inCore}},
		"core without services": {core(time.Hour), map[string]string{"v1/services": "false"},
			map[string][]string{"v1": inCore[:len(inCore)-3]}},
		"apps": {apps(), nil, map[string][]string{"v1": inApps}},
		"apps in all versions": {apps(), map[string]string{"api/all": "true"}, map[string][]string{
			"v1": inApps, "v1beta2": deployments,
			"v1beta1": {"deployments", "deployments/rollback", "deployments/scale", "deployments/status"},
		}},
		"apps/v1beta1 alone": {apps(), map[string]string{"apps/v1": "false", "apps/v1beta1": "true"},
			map[string][]string{"v1beta1": {"deployments", "deployments/rollback", "deployments/scale", "deployments/status"}}},
		"no apps": {apps(), map[string]string{"apps/v1": "false"}, map[string][]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			group := storages(t, tc.provider, etcd, tc.config)
			if diff := cmp.Diff(tc.want, names(group)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestVersionsShareOneStorage(t *testing.T) {
	group := storages(t, apps(), builtintest.NewEtcd(t), map[string]string{"api/all": "true"})
	v1 := group.VersionedResourcesStorageMap["v1"]
	for _, version := range []string{"v1beta1", "v1beta2"} {
		for _, name := range []string{"deployments", "deployments/status", "deployments/scale"} {
			if group.VersionedResourcesStorageMap[version][name] != v1[name] {
				t.Errorf("%s %s has a storage of its own", version, name)
			}
		}
	}
	want := []schema.GroupVersion{{Group: "apps", Version: "v1"}, {Group: "apps", Version: "v1beta2"}, {Group: "apps", Version: "v1beta1"}}
	if !slices.Equal(group.PrioritizedVersions, want) {
		t.Errorf("versions %v", group.PrioritizedVersions)
	}
}

// TestNames compares what discovery and kubectl call the resources.
func TestNames(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	coreV1 := storages(t, core(time.Hour), etcd, nil).VersionedResourcesStorageMap["v1"]
	appsV1 := storages(t, apps(), etcd, nil).VersionedResourcesStorageMap["v1"]
	for _, tc := range []struct {
		resource, singular, short, category string
		namespaced, returnsDeleted          bool
		storages                            map[string]corerest.Storage
	}{
		{"configmaps", "configmap", "cm", "", true, false, coreV1},
		{"events", "event", "ev", "", true, false, coreV1},
		{"namespaces", "namespace", "ns", "", false, false, coreV1},
		{"pods", "pod", "po", "all", true, true, coreV1},
		{"secrets", "secret", "", "", true, false, coreV1},
		{"serviceaccounts", "serviceaccount", "sa", "", true, true, coreV1},
		{"services", "service", "svc", "all", true, true, coreV1},
		{"deployments", "deployment", "deploy", "all", true, false, appsV1},
		{"replicasets", "replicaset", "rs", "all", true, false, appsV1},
		{"statefulsets", "statefulset", "sts", "all", true, false, appsV1},
	} {
		s := tc.storages[tc.resource]
		if got := s.(corerest.SingularNameProvider).GetSingularName(); got != tc.singular {
			t.Errorf("%s: singular %q", tc.resource, got)
		}
		if got := strings.Join(s.(corerest.ShortNamesProvider).ShortNames(), ","); got != tc.short {
			t.Errorf("%s: short names %q", tc.resource, got)
		}
		if got := strings.Join(s.(corerest.CategoriesProvider).Categories(), ","); got != tc.category {
			t.Errorf("%s: categories %q", tc.resource, got)
		}
		if got := s.(corerest.Scoper).NamespaceScoped(); got != tc.namespaced {
			t.Errorf("%s: namespaced %v", tc.resource, got)
		}
		deleter, ok := s.(corerest.MayReturnFullObjectDeleter)
		if got := ok && deleter.DeleteReturnsDeletedObject(); got != tc.returnsDeleted {
			t.Errorf("%s: DELETE is said to return the object: %v", tc.resource, got)
		}
	}
}

type onDiskCase struct {
	storages map[string]corerest.Storage
	resource string
	obj      runtime.Object
	key      string
	kind     string
}

// onDiskCases are an object of every resource, and where and as what it lies in etcd.
func onDiskCases(core, apps map[string]corerest.Storage) []onDiskCase {
	named := metav1.ObjectMeta{Name: "x"}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	selector := &metav1.LabelSelector{MatchLabels: template.Labels}
	return []onDiskCase{
		{core, "configmaps", &corev1.ConfigMap{ObjectMeta: named}, "/configmaps/default/x", "v1 ConfigMap"},
		{core, "events", &corev1.Event{ObjectMeta: named, InvolvedObject: corev1.ObjectReference{Namespace: "default"}}, "/events/default/x", "v1 Event"},
		{core, "namespaces", &corev1.Namespace{ObjectMeta: named}, "/namespaces/x", "v1 Namespace"},
		{core, "pods", &corev1.Pod{ObjectMeta: named, Spec: template.Spec}, "/pods/default/x", "v1 Pod"},
		{core, "secrets", &corev1.Secret{ObjectMeta: named}, "/secrets/default/x", "v1 Secret"},
		{core, "serviceaccounts", &corev1.ServiceAccount{ObjectMeta: named}, "/serviceaccounts/default/x", "v1 ServiceAccount"},
		{core, "services", &corev1.Service{ObjectMeta: named, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}},
			"/services/specs/default/x", "v1 Service"},
		{apps, "deployments", &appsv1.Deployment{ObjectMeta: named, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template}},
			"/deployments/default/x", "apps/v1 Deployment"},
		{apps, "replicasets", &appsv1.ReplicaSet{ObjectMeta: named, Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template}},
			"/replicasets/default/x", "apps/v1 ReplicaSet"},
		{apps, "statefulsets", &appsv1.StatefulSet{ObjectMeta: named, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template}},
			"/statefulsets/default/x", "apps/v1 StatefulSet"},
	}
}

// TestOnDisk creates an object of every resource and looks at it in etcd, where a Kubernetes API server must find it.
func TestOnDisk(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	coreV1 := storages(t, core(time.Hour), etcd, nil).VersionedResourcesStorageMap["v1"]
	appsV1 := storages(t, apps(), etcd, nil).VersionedResourcesStorageMap["v1"]
	ctx := builtintest.Context(t, "default")
	for _, tc := range onDiskCases(coreV1, appsV1) {
		t.Run(tc.resource, func(t *testing.T) {
			in := ctx
			if tc.resource == "namespaces" {
				in = builtintest.Context(t, "")
			}
			s := tc.storages[tc.resource]
			created, err := s.(corerest.Creater).Create(in, builtintest.Defaulted(tc.obj), corerest.ValidateAllObjectFunc, &metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if m, err := meta.Accessor(created); err != nil || m.GetResourceVersion() == "" || m.GetUID() == "" {
				t.Errorf("created %+v: %v", created, err)
			}
			answer, err := etcd.Client.Get(ctx, etcd.Prefix+tc.key)
			if err != nil {
				t.Fatal(err)
			}
			if answer.Count != 1 {
				t.Fatalf("nothing at %s", tc.key)
			}
			kv := answer.Kvs[0]
			var envelope runtime.Unknown
			if !bytes.HasPrefix(kv.Value, []byte("k8s\x00")) || envelope.Unmarshal(kv.Value[4:]) != nil ||
				envelope.APIVersion+" "+envelope.Kind != tc.kind {
				t.Errorf("stored as %q", kv.Value)
			}
			if lives := kv.Lease != 0; lives != (tc.resource == "events") {
				t.Errorf("has a time to live: %v", lives)
			}
			got, err := s.(corerest.Getter).Get(in, "x", &metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(builtintest.Own[runtime.Object](t, created), got); diff != "" {
				t.Errorf("read something else than was created:\n%s", diff)
			}
			table, err := s.(corerest.TableConvertor).ConvertToTable(in, got, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(table.ColumnDefinitions) != len(table.Rows[0].Cells) {
				t.Errorf("%d columns, %d cells", len(table.ColumnDefinitions), len(table.Rows[0].Cells))
			}
		})
	}
}

// TestSelectors lists by every field that a resource has for it.
func TestSelectors(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	coreV1 := storages(t, core(time.Hour), etcd, nil).VersionedResourcesStorageMap["v1"]
	ctx := builtintest.Context(t, "default")
	for _, name := range []string{"a", "b"} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: corev1.SecretType("example.com/" + name)}
		if _, err := coreV1["secrets"].(corerest.Creater).Create(ctx, secret, corerest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for selector, want := range map[string]int{
		"type=example.com/b": 1, "type!=example.com/b": 1, "metadata.name=a": 1, "metadata.namespace=default": 2, "metadata.name=a,type=example.com/b": 0,
	} {
		list, err := coreV1["secrets"].(corerest.Lister).List(ctx, &metainternalversion.ListOptions{FieldSelector: fields.ParseSelectorOrDie(selector)})
		if err != nil {
			t.Fatal(err)
		}
		if got := meta.LenList(list); got != want {
			t.Errorf("%s: %d secrets, want %d", selector, got, want)
		}
	}
}

// failing has no options for one resource.
type failing struct {
	backend.RESTOptionsGetter
	resource string
}

func (f failing) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (backend.RESTOptions, error) {
	if resource.Resource == f.resource {
		return backend.RESTOptions{}, errors.New("no disk")
	}
	return f.RESTOptionsGetter.GetRESTOptions(resource, example)
}

func TestAStorageThatFailsIsNamed(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	for _, resource := range []string{"configmaps", "services", "servicenodeportallocations"} {
		_, err := core(0).NewRESTStorage(rest.DefaultAPIResourceConfig(), failing{etcd, resource})
		if err == nil || !strings.Contains(err.Error(), resource) || !strings.Contains(err.Error(), "no disk") {
			t.Errorf("%s: %v", resource, err)
		}
	}
}

// TestEventsEnd waits for an event to go by itself.
func TestEventsEnd(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	coreV1 := storages(t, core(time.Second), etcd, nil).VersionedResourcesStorageMap["v1"]
	ctx := builtintest.Context(t, "default")
	watch := etcd.Client.Watch(ctx, etcd.Prefix+"/events/", clientv3.WithPrefix(), clientv3.WithFilterPut())
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "x"}, InvolvedObject: corev1.ObjectReference{Namespace: "default"}}
	if _, err := coreV1["events"].(corerest.Creater).Create(ctx, event, corerest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	answer, err := etcd.Client.Get(ctx, etcd.Prefix+"/events/default/x")
	if err != nil {
		t.Fatal(err)
	}
	if answer.Kvs[0].Lease == 0 {
		t.Fatal("the event has no lease")
	}
	if change := <-watch; len(change.Events) == 0 || change.Events[0].Type != clientv3.EventTypeDelete {
		t.Errorf("got %+v", change)
	}
}
