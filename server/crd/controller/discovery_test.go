package controller_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/crd/controller"
	"github.com/kx-apiserver/kx/server/crd/lister"
	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
)

const (
	plainJSON      = "application/json"
	aggregatedJSON = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)

// builtIn is a group version that every process has told of from the start.
var builtIn = schema.GroupVersion{Group: "builtin.example.com", Version: "v1"}

func TestDiscovery(t *testing.T) {
	noLeaks(t)
	p := start(t, builtintest.NewEtcd(t), noObjects{})
	d := crd("g.example.com", "crontabs", "crontab", "CronTab", "ct")
	d.Spec.Names.Categories = []string{"all"}
	d.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{
		Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
		Scale: &apiextensionsv1.CustomResourceSubresourceScale{
			SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas"},
	}
	old := d.Spec.Versions[0]
	old.Name, old.Storage, old.Subresources = "v1beta1", false, nil
	unserved := old
	unserved.Name, unserved.Served = "v1alpha1", false
	d.Spec.Versions = append(d.Spec.Versions, old, unserved)
	p.create(d)
	other := crd("g.example.com", "alarms", "alarm", "Alarm")
	other.Spec.Scope = apiextensionsv1.ClusterScoped
	p.create(other)
	p.until(d.Name, isEstablished)
	p.until(other.Name, isEstablished)

	verbs := metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	some := metav1.Verbs{"get", "patch", "update"}
	hash := func(kind string) string { return discovery.StorageVersionHash("g.example.com", "v1", kind) }
	crontabs := metav1.APIResource{Name: "crontabs", SingularName: "crontab", Namespaced: true, Kind: "CronTab", Verbs: verbs,
		ShortNames: []string{"ct"}, Categories: []string{"all"}, StorageVersionHash: hash("CronTab")}
	for path, want := range map[string][]metav1.APIResource{
		"/apis/g.example.com/v1": {
			{Name: "alarms", SingularName: "alarm", Kind: "Alarm", Verbs: verbs, StorageVersionHash: hash("Alarm")},
			crontabs,
			{Name: "crontabs/status", Namespaced: true, Kind: "CronTab", Verbs: some},
			{Name: "crontabs/scale", Namespaced: true, Group: "autoscaling", Version: "v1", Kind: "Scale", Verbs: some},
		},
		"/apis/g.example.com/v1beta1": {crontabs},
	} {
		if diff := cmp.Diff(want, page[metav1.APIResourceList](p, path, plainJSON).APIResources); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	if l := page[metav1.APIResourceList](p, "/apis/g.example.com/v1alpha1", plainJSON); l != nil {
		t.Errorf("a version that is not served has %+v", l)
	}
	group := page[metav1.APIGroup](p, "/apis/g.example.com/", plainJSON)
	if group == nil || len(group.Versions) != 2 || group.PreferredVersion.Version != "v1" || group.Versions[1].Version != "v1beta1" {
		t.Errorf("the group is %+v", group)
	}
	if list := page[metav1.APIGroupList](p, "/apis", plainJSON); len(list.Groups) != 2 {
		t.Errorf("the groups are %+v", list.Groups)
	}
	scaled := aggregatedScale(t, page[apidiscoveryv2.APIGroupDiscoveryList](p, "/apis", aggregatedJSON))
	if *scaled.ResponseKind != (metav1.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}) {
		t.Errorf("scale has the kind %v", scaled.ResponseKind)
	}
}

func aggregatedScale(t *testing.T, list *apidiscoveryv2.APIGroupDiscoveryList) apidiscoveryv2.APISubresourceDiscovery {
	t.Helper()
	for _, g := range list.Items {
		if g.Name != "g.example.com" {
			continue
		}
		resources := g.Versions[0].Resources
		if len(resources) == 2 && resources[1].Resource == "crontabs" && len(resources[1].Subresources) == 2 && resources[1].Subresources[1].Subresource == "scale" {
			return resources[1].Subresources[1]
		}
	}
	t.Fatalf("there is no crontabs/scale in %+v", list.Items)
	panic("unreachable")
}

// TestDiscoveryFollows asks after each change, once etcd says that it has been made.
func TestDiscoveryFollows(t *testing.T) {
	noLeaks(t)
	p := start(t, builtintest.NewEtcd(t), noObjects{})
	names := func(version string) (names []string) {
		if l := page[metav1.APIResourceList](p, "/apis/g.example.com/"+version, plainJSON); l != nil {
			for _, r := range l.APIResources {
				names = append(names, r.Name)
			}
		}
		return names
	}
	if names("v1") != nil {
		t.Error("the group is there before it is defined")
	}
	var want []string
	for i := range 20 {
		plural := fmt.Sprintf("as%02d", i)
		p.create(crd("g.example.com", plural, fmt.Sprintf("a%d", i), fmt.Sprintf("A%d", i)))
		p.until(plural+".g.example.com", isEstablished)
		if want = append(want, plural); !slices.Equal(names("v1"), want) {
			t.Fatalf("%s is established, and there are %q", plural, names("v1"))
		}
	}
	// From here on the test sees changes when the process does, and asks until it has.
	for _, change := range []struct {
		what string
		do   func(d *apiextensions.CustomResourceDefinition)
		v1   int
		v2   int
	}{
		{"another version", func(d *apiextensions.CustomResourceDefinition) {
			v := d.Spec.Versions[0]
			v.Name, v.Storage = "v2", false
			d.Spec.Versions = append(d.Spec.Versions, v)
		}, 20, 1},
		{"a version that is not served any more", func(d *apiextensions.CustomResourceDefinition) { d.Spec.Versions[0].Served = false }, 19, 1},
		{"only the first version", func(d *apiextensions.CustomResourceDefinition) {
			d.Spec.Versions = d.Spec.Versions[:1]
			d.Spec.Versions[0].Served = true
		}, 20, 0},
	} {
		p.edit(p.crds, "as00.g.example.com", change.do)
		p.eventually(change.what, func() bool { return len(names("v1")) == change.v1 && len(names("v2")) == change.v2 })
	}
	p.remove("as00.g.example.com")
	p.eventually("the end of its creation", func() bool {
		l := page[metav1.APIResourceList](p, "/apis/g.example.com/v1", plainJSON)
		return l.APIResources[0].Name != "as00" || !slices.Contains(l.APIResources[0].Verbs, "create") && !slices.Contains(l.APIResources[0].Verbs, "patch")
	})
	for _, plural := range want {
		p.remove(plural + ".g.example.com")
		p.edit(p.crds, plural+".g.example.com", func(d *apiextensions.CustomResourceDefinition) { d.Finalizers = nil })
	}
	p.eventually("the end of the group", func() bool {
		return page[metav1.APIGroup](p, "/apis/g.example.com", plainJSON) == nil && len(page[metav1.APIGroupList](p, "/apis", plainJSON).Groups) == 1
	})
}

// TestDiscoveryOfBuiltIns has a definition in a group version that somebody else tells of.
func TestDiscoveryOfBuiltIns(t *testing.T) {
	noLeaks(t)
	p := start(t, builtintest.NewEtcd(t), noObjects{})
	p.create(crd(builtIn.Group, "ones", "one", "One"))
	p.until("ones."+builtIn.Group, isEstablished)
	l := page[metav1.APIResourceList](p, "/apis/"+builtIn.String(), plainJSON)
	if len(l.APIResources) != 1 || l.APIResources[0].Name != "builtins" {
		t.Errorf("there are %+v", l.APIResources)
	}
	p.remove("ones." + builtIn.Group)
	p.edit(p.crds, "ones."+builtIn.Group, func(d *apiextensions.CustomResourceDefinition) { d.Finalizers = nil })
	p.until("ones."+builtIn.Group, isGone)
	p.eventually("the end of the definition", func() bool { return p.lister.Get("ones."+builtIn.Group) == nil })
	if page[metav1.APIResourceList](p, "/apis/"+builtIn.String(), plainJSON) == nil {
		t.Error("the built-in group is gone")
	}
}

// TestDiscoveryDoesNotWaitForever has a definition that nobody establishes, and then somebody does.
func TestDiscoveryDoesNotWaitForever(t *testing.T) {
	noLeaks(t)
	p := &process{t: t}
	p.crds, p.status = storages(t, builtintest.NewEtcd(t))
	p.lister = lister.New(p.crds)
	pages := discovery.NewManager("127.0.0.1:7443")
	p.pages = controller.NewPublication(p.lister, pages).WithDiscovery(pages.WithDelegate(http.NotFoundHandler()))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { p.lister.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })

	const name = "ones.g.example.com"
	set := func(kind apiextensions.CustomResourceDefinitionConditionType) {
		p.edit(p.status, name, func(d *apiextensions.CustomResourceDefinition) {
			d.Status.AcceptedNames = d.Spec.Names
			apiextensions.SetCRDCondition(d, apiextensions.CustomResourceDefinitionCondition{Type: kind, Status: apiextensions.ConditionTrue})
		})
	}
	p.create(crd("g.example.com", "ones", "one", "One"))
	set(apiextensions.NamesAccepted)
	p.eventually("that it is known", func() bool {
		d := p.lister.Get(name)
		return d != nil && apihelpers.IsCRDConditionTrue(d, apiextensionsv1.NamesAccepted)
	})
	for range 100 { // each of them waiting would be longer than any test may take
		if list := page[metav1.APIGroupList](p, "/apis", plainJSON); len(list.Groups) > 0 {
			t.Fatalf("there are %+v", list.Groups)
		}
	}
	set(apiextensions.Established)
	p.eventually("its group", func() bool { return page[metav1.APIGroup](p, "/apis/g.example.com", plainJSON) != nil })
}
