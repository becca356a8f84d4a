package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core"
	"github.com/kx-apiserver/kx/server/crd/controller"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
)

// objects are of one definition, which a test deletes. That they are ConfigMaps is nothing to the controller.
type objects struct {
	t testing.TB
	rest.StandardStorage
	// broken is what their storage fails with.
	broken atomic.Pointer[error]
}

func newObjects(t testing.TB, etcd *builtintest.Etcd) *objects {
	t.Helper()
	return &objects{t: t, StandardStorage: builtintest.Storages(t, builtin.Declare(core.ConfigMap), etcd)[""].(rest.StandardStorage)}
}

func (o *objects) GetCustomResourceListerCollectionDeleter(*apiextensionsv1.CustomResourceDefinition) (controller.ListerCollectionDeleter, error) {
	return o, nil
}

func (o *objects) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, listOptions *metainternalversion.ListOptions) (runtime.Object, error) {
	if err := o.broken.Load(); err != nil {
		return nil, *err
	}
	return o.StandardStorage.DeleteCollection(ctx, validate, options, listOptions)
}

func (o *objects) add(namespace, name string, finalizers ...string) {
	o.t.Helper()
	_, err := o.Create(builtintest.Context(o.t, namespace), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Finalizers: finalizers},
	}, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *objects) release(namespace, name string) {
	o.t.Helper()
	next := func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		cm := old.DeepCopyObject().(*corev1.ConfigMap)
		cm.Finalizers = nil
		return cm, nil
	}
	_, _, err := o.Update(builtintest.Context(o.t, namespace), name, rest.DefaultUpdatedObjectInfo(nil, next), rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
}

// names are those of all that are there.
func (o *objects) names() (names []string) {
	o.t.Helper()
	list, err := o.List(builtintest.Context(o.t, ""), &metainternalversion.ListOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	for _, cm := range list.(*corev1.ConfigMapList).Items {
		names = append(names, cm.Namespace+"/"+cm.Name)
	}
	return names
}

var inProgress = says(apiextensionsv1.Terminating, yes, "InstanceDeletionInProgress", "CustomResource deletion is in progress")

// TestEnd deletes a definition whose objects are in several namespaces; one of them has a finalizer. Two servers do it.
func TestEnd(t *testing.T) {
	noLeaks(t)
	etcd := builtintest.NewEtcd(t)
	o := newObjects(t, etcd)
	p := start(t, etcd, o)
	start(t, etcd, o)
	p.create(crd("g.example.com", "ones", "one", "One"))
	p.until("ones.g.example.com", isEstablished)
	for i := range 3 {
		o.add("a", fmt.Sprintf("o%d", i))
	}
	o.add("b", "free")
	o.add("b", "held", "example.com/hold")

	p.remove("ones.g.example.com")
	p.until("ones.g.example.com", inProgress)
	p.eventually("the deletion of the others", func() bool { return slices.Equal(o.names(), []string{"b/held"}) })
	if d := p.until("ones.g.example.com", inProgress); !apihelpers.CRDHasFinalizer(d, apiextensionsv1.CustomResourceCleanupFinalizer) {
		t.Errorf("with an object left it has the finalizers %q", d.Finalizers)
	}
	o.release("b", "held")
	p.until("ones.g.example.com", isGone)
	if left := o.names(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}

	// Its name is free again.
	p.create(crd("g.example.com", "ones", "one", "One"))
	p.until("ones.g.example.com", isEstablished)
}

// TestLastCondition has a definition with a finalizer of somebody else, so that it can be looked at at the end.
func TestLastCondition(t *testing.T) {
	noLeaks(t)
	etcd := builtintest.NewEtcd(t)
	p := start(t, etcd, newObjects(t, etcd))
	never := crd("g.example.com", "nevers", "never", "One")
	overlap := crd("apiextensions.k8s.io", "customresourcedefinitions", "customresourcedefinition", "CustomResourceDefinition")
	overlap.Annotations = map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, a test"}
	for _, tt := range []struct {
		d       *apiextensionsv1.CustomResourceDefinition
		settled func(*apiextensionsv1.CustomResourceDefinition) bool
	}{
		{crd("g.example.com", "ones", "one", "One"), isEstablished},
		{never, says(apiextensionsv1.NamesAccepted, no, "ListKindConflict", `"OneList" is already in use`)},
		{overlap, isEstablished},
	} {
		tt.d.Finalizers = []string{"example.com/look"}
		p.create(tt.d)
		p.until(tt.d.Name, tt.settled)
	}
	for _, tt := range []struct{ name, reason, message string }{
		{never.Name, "NeverEstablished", "resource was never established"}, // as long as the other one has its kind
		{"ones.g.example.com", "InstanceDeletionCompleted", "removed all instances"},
		{overlap.Name, "OverlappingBuiltInResource", "instances overlap with built-in resources in storage"},
	} {
		name := tt.name
		p.remove(name)
		d := p.until(name, says(apiextensionsv1.Terminating, no, tt.reason, tt.message))
		if !slices.Equal(d.Finalizers, []string{"example.com/look"}) {
			t.Errorf("%s has the finalizers %q", name, d.Finalizers)
		}
		p.edit(p.crds, name, func(d *apiextensions.CustomResourceDefinition) { d.Finalizers = nil })
		p.until(name, isGone)
	}
}

// TestEndThatFails has objects that can't be deleted, and then can.
func TestEndThatFails(t *testing.T) {
	noLeaks(t)
	etcd := builtintest.NewEtcd(t)
	o := newObjects(t, etcd)
	broken := errors.New("the disk is full")
	o.broken.Store(&broken)
	p := start(t, etcd, o)
	p.create(crd("g.example.com", "ones", "one", "One"))
	p.until("ones.g.example.com", isEstablished)
	o.add("a", "o")
	p.remove("ones.g.example.com")
	p.until("ones.g.example.com", says(apiextensionsv1.Terminating, yes, "InstanceDeletionFailed", "could not issue all deletes: the disk is full"))
	o.broken.Store(nil)
	p.until("ones.g.example.com", isGone)
	if left := o.names(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// TestEndWithoutStorage has a definition whose storage can't be made.
func TestEndWithoutStorage(t *testing.T) {
	noLeaks(t)
	p := start(t, builtintest.NewEtcd(t), noObjects{})
	p.create(crd("g.example.com", "ones", "one", "One"))
	p.until("ones.g.example.com", isEstablished)
	p.remove("ones.g.example.com")
	p.until("ones.g.example.com", says(apiextensionsv1.Terminating, yes, "InstanceDeletionFailed",
		"could not list instances: unable to find a custom resource client for ones.g.example.com: there is no storage"))
}

// TestEndGoesOn stops the process that has begun with it.
func TestEndGoesOn(t *testing.T) {
	noLeaks(t)
	etcd := builtintest.NewEtcd(t)
	o := newObjects(t, etcd)
	p := start(t, etcd, o)
	p.create(crd("g.example.com", "ones", "one", "One"))
	p.until("ones.g.example.com", isEstablished)
	o.add("a", "held", "example.com/hold")
	p.remove("ones.g.example.com")
	p.until("ones.g.example.com", inProgress)
	p.stop()
	o.release("a", "held")
	start(t, etcd, o).until("ones.g.example.com", isGone)
}
