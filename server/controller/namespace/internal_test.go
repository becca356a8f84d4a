package namespace

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin/all"
	providers "github.com/kx-apiserver/kx/server/builtin/rest"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
)

// parts is a controller that has not been started, and what it works with.
type parts struct {
	*Controller
	t    *testing.T
	all  map[schema.GroupVersionResource]rest.Storage
	etcd *builtintest.Etcd
}

func newParts(t *testing.T, config map[string]string) parts {
	t.Helper()
	source, err := providers.ParseRuntimeConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	p := parts{t: t, all: map[schema.GroupVersionResource]rest.Storage{}, etcd: builtintest.NewEtcd(t)}
	for _, provider := range providers.Providers(all.Needs{}) {
		group, err := provider.NewRESTStorage(source, p.etcd)
		if err != nil {
			t.Fatal(err)
		}
		for version, storages := range group.VersionedResourcesStorageMap {
			for name, storage := range storages {
				p.all[schema.GroupVersionResource{Group: provider.GroupName(), Version: version, Resource: name}] = storage
				t.Cleanup(storage.Destroy)
			}
		}
	}
	p.Controller = New(&work.Kit{Storages: p.installed, Log: slog.New(slog.DiscardHandler)}, nil, func(context.Context) error { return nil })
	if p.Controller != nil {
		t.Cleanup(p.Stop)
		go p.Run(t.Context())
	}
	return p
}

func (p parts) installed() map[schema.GroupVersionResource]rest.Storage { return p.all }

func (p parts) add(name string) *corev1.Namespace {
	p.t.Helper()
	ctx := p.request(p.t.Context(), work.APIServer, "create", "")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	obj, err := p.namespaces.Create(ctx, ns, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	return builtintest.Own[*corev1.Namespace](p.t, obj)
}

func (p parts) remove(name string) {
	p.t.Helper()
	ctx := p.request(p.t.Context(), work.APIServer, "delete", "")
	if _, _, err := p.namespaces.(rest.GracefulDeleter).Delete(ctx, name, rest.ValidateAllObjectFunc, nil); err != nil {
		p.t.Fatal(err)
	}
}

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

func (p parts) addConfigMap(namespace, name string) {
	p.t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	_, err := p.all[configMaps].(rest.Creater).Create(builtintest.Context(p.t, namespace), cm, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p parts) hasConfigMap(namespace, name string) bool {
	p.t.Helper()
	_, err := p.all[configMaps].(rest.Getter).Get(builtintest.Context(p.t, namespace), name, &metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		p.t.Fatal(err)
	}
	return err == nil
}

// untilGone asks until the namespace is not there.
func (p parts) untilGone(name string) {
	p.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; {
		if _, err := p.get(p.t.Context(), name); apierrors.IsNotFound(err) {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s is still there", name)
		}
	}
}

// TestLaterNamespaceIsSpared has a controller that is slow: while it works, another one ends the namespace, and somebody
// makes one of the same name.
func TestLaterNamespaceIsSpared(t *testing.T) {
	p := newParts(t, nil)
	p.add("a")
	p.remove("a")
	old, err := p.get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if done, err := p.empty(t.Context(), old.UID, &endingNamespace{name: "a"}); !done || err != nil {
		t.Fatal(done, err)
	}
	p.add("a")
	p.addConfigMap("a", "new")

	remains := deleteContent(t.Context(), old, p.all, p.writer, p.guard("a", old.UID), nil)
	if remains.isGone() || len(remains.failures) != 1 || !errors.Is(remains.failures[0], errNotEnding) {
		t.Errorf("of a later namespace's content it is said: %+v", remains)
	}
	if done, err := p.empty(t.Context(), old.UID, &endingNamespace{name: "a"}); !done || err != nil {
		t.Error(done, err)
	}
	if err := p.tell(t.Context(), old, remains); !gone(err) {
		t.Errorf("a later namespace was written to: %v", err)
	}
	if !p.hasConfigMap("a", "new") {
		t.Error("an object of the later namespace was deleted")
	}
	now, err := p.get(t.Context(), "a")
	if err != nil || now.DeletionTimestamp != nil || len(now.Status.Conditions) != 0 {
		t.Errorf("the later namespace is %+v, %v", now, err)
	}
}

// TestWatchThatIsTooLate begins at a revision that etcd has forgotten.
func TestWatchThatIsTooLate(t *testing.T) {
	p := newParts(t, nil)
	p.add("a")
	p.addConfigMap("a", "o")
	p.remove("a")
	answer, err := p.etcd.Client.Get(t.Context(), "any")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.etcd.Client.Compact(t.Context(), answer.Header.Revision); err != nil {
		t.Fatal(err)
	}
	p.begin("1")
	p.untilGone("a")
	if p.hasConfigMap("a", "o") {
		t.Error("its content is still there")
	}
}

// TestStartWithoutAnswer has an etcd that does not answer at the start, and does later.
func TestStartWithoutAnswer(t *testing.T) {
	p := newParts(t, nil)
	p.add("a")
	p.remove("a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Start(ctx)
	p.untilGone("a")
	if _, err := p.get(t.Context(), "kube-system"); err != nil {
		t.Error(err)
	}
}

func TestPanicIsAFailedAttempt(t *testing.T) {
	p := newParts(t, nil)
	var panicked atomic.Bool
	p.storages = func() map[schema.GroupVersionResource]rest.Storage {
		if !panicked.Swap(true) {
			panic("no storages")
		}
		return p.all
	}
	p.add("a")
	p.remove("a")
	p.Start(t.Context())
	p.untilGone("a")
	if !panicked.Load() {
		t.Error("nothing panicked")
	}
}

func TestWithoutNamespaces(t *testing.T) {
	p := newParts(t, map[string]string{"v1/namespaces": "false"})
	if p.Controller != nil {
		t.Error("there is a controller of namespaces that are not served")
	}
}

func TestCollections(t *testing.T) {
	p := newParts(t, map[string]string{"apps/v1beta1": "true", "apps/v1beta2": "true"})
	// Other resources come and go; those of several groups and versions stand for all.
	var got []schema.GroupVersionResource
	for _, c := range collections(p.all) {
		got = append(got, c.resource)
	}
	v1 := corev1.SchemeGroupVersion
	want := []schema.GroupVersionResource{
		v1.WithResource("pods"), v1.WithResource("configmaps"), v1.WithResource("events"), v1.WithResource("secrets"),
		v1.WithResource("serviceaccounts"), v1.WithResource("services"),
		appsv1.SchemeGroupVersion.WithResource("deployments"), appsv1.SchemeGroupVersion.WithResource("replicasets"),
		coordinationv1.SchemeGroupVersion.WithResource("leases"),
		rbacv1.SchemeGroupVersion.WithResource("rolebindings"), rbacv1.SchemeGroupVersion.WithResource("roles"),
	}
	if got[0] != want[0] {
		t.Errorf("%v is emptied before pods", got[0])
	}
	got = slices.DeleteFunc(got, func(r schema.GroupVersionResource) bool { return !slices.Contains(want, r) })
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v among others", got, want)
	}
	without := maps.Clone(p.all)
	delete(without, appsv1.SchemeGroupVersion.WithResource("deployments"))
	for _, c := range collections(without) {
		if c.resource.Resource == "deployments" && c.resource.Version != "v1beta2" {
			t.Errorf("the next best version is %s", c.resource.Version)
		}
	}
}

func TestSetConditions(t *testing.T) {
	early, late := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
	bad := map[corev1.NamespaceConditionType]string{corev1.NamespaceContentRemaining: "much"}
	foreign := corev1.NamespaceCondition{Type: "example.com/Mine", Status: corev1.ConditionTrue}
	status := &corev1.NamespaceStatus{Conditions: []corev1.NamespaceCondition{foreign}}
	if !setConditions(status, bad, early) || len(status.Conditions) != 6 || status.Conditions[0] != foreign {
		t.Fatalf("at first: %+v", status.Conditions)
	}
	before := status.DeepCopy()
	if setConditions(status, bad, late) || !slices.Equal(status.Conditions, before.Conditions) {
		t.Errorf("the same again changed it to %+v", status.Conditions)
	}
	// Another message is no transition, another status is one.
	bad[corev1.NamespaceContentRemaining] = "little"
	c := &status.Conditions[4]
	if !setConditions(status, bad, late) || c.Message != "little" || c.LastTransitionTime != early {
		t.Errorf("another message: %+v", c)
	}
	if !setConditions(status, nil, late) || c.Status != corev1.ConditionFalse || c.Reason != "ContentRemoved" || c.LastTransitionTime != late {
		t.Errorf("nothing remains: %+v", c)
	}
}

func TestBad(t *testing.T) {
	c := &content{
		objects:  map[schema.GroupResource]int{{Resource: "pods"}: 2, {Group: "apps", Resource: "deployments"}: 1},
		failures: []error{errors.New("b"), errors.New("a")},
	}
	want := map[corev1.NamespaceConditionType]string{
		corev1.NamespaceDeletionContentFailure: "Failed to delete all resource types, 2 remaining: a, b",
		corev1.NamespaceContentRemaining:       "Some resources are remaining: deployments.apps has 1 resource instances, pods. has 2 resource instances",
	}
	if got := c.bad(); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := inOrder(c.bad()); !slices.Equal(got, []string{want[corev1.NamespaceDeletionContentFailure], want[corev1.NamespaceContentRemaining]}) {
		t.Errorf("in order: %q", got)
	}
}

func TestMayStillStop(t *testing.T) {
	pod := func(seconds int64, phase corev1.PodPhase) corev1.Pod {
		return corev1.Pod{Spec: corev1.PodSpec{TerminationGracePeriodSeconds: &seconds}, Status: corev1.PodStatus{Phase: phase}}
	}
	hour := int64(3600)
	for name, test := range map[string]struct {
		pods []corev1.Pod
		want bool
	}{
		"none":              {nil, false},
		"one that may":      {[]corev1.Pod{pod(1, corev1.PodRunning), pod(2*hour, corev1.PodPending)}, true},
		"its time is up":    {[]corev1.Pod{pod(1, corev1.PodRunning)}, false},
		"it stopped before": {[]corev1.Pod{pod(2*hour, corev1.PodSucceeded), pod(2*hour, corev1.PodFailed)}, false},
		"it does not say":   {[]corev1.Pod{{}}, false},
	} {
		if got := mayStillStop(t.Context(), &corev1.PodList{Items: test.pods}, time.Now().Add(-time.Hour)); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
