package discovery

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/restmapper"
)

// snapshot holds all resources at one moment.
type snapshot struct {
	installed map[schema.GroupVersion][]metav1.APIResource
	// remotes holds the group versions of other servers.
	remotes map[schema.GroupVersion]Remote
	// pages returns the page of each path.
	pages func() map[string]*page
}

func newSnapshot(serverAddress string, installed map[schema.GroupVersion][]metav1.APIResource,
	remotes map[schema.GroupVersion]Remote) *snapshot {
	s := &snapshot{installed: installed, remotes: remotes}
	s.pages = sync.OnceValue(func() map[string]*page { return s.makePages(serverAddress) })
	return s
}

// aggregator is the group of API services. Kubernetes lists it first, because its aggregator puts it before the groups
// of the servers behind it.
const aggregator = "apiregistration.k8s.io"

// groups returns the group versions by group, in the order of the documents.
func (s *snapshot) groups() [][]schema.GroupVersion {
	byGroup, byVersion := map[string]int32{}, map[schema.GroupVersion]int32{}
	for gv := range s.installed {
		p, _ := PriorityOf(gv)
		byGroup[gv.Group] = max(byGroup[gv.Group], p.Group)
		byVersion[gv] = priorities[gv].Version // unknown versions come last
	}
	for gv, r := range s.remotes {
		byGroup[gv.Group] = max(byGroup[gv.Group], r.Priority.Group)
		byVersion[gv] = r.Priority.Version
	}
	byGroup[aggregator] = math.MaxInt32
	sorted := slices.SortedFunc(maps.Keys(byVersion), func(a, b schema.GroupVersion) int {
		return cmp.Or(
			cmp.Compare(byGroup[b.Group], byGroup[a.Group]),
			cmp.Compare(a.Group, b.Group),
			cmp.Compare(byVersion[b], byVersion[a]),
			version.CompareKubeAwareVersionStrings(b.Version, a.Version))
	})
	var groups [][]schema.GroupVersion
	for _, gv := range sorted {
		if last := len(groups) - 1; last >= 0 && groups[last][0].Group == gv.Group {
			groups[last] = append(groups[last], gv)
			continue
		}
		groups = append(groups, []schema.GroupVersion{gv})
	}
	return groups
}

// makePages makes the page of each path. As in upstream, the core group's documents have no apiVersion, which clients
// of Kubernetes 1.1 did not expect.
func (s *snapshot) makePages(serverAddress string) map[string]*page {
	versions := &metav1.APIVersions{
		TypeMeta: metav1.TypeMeta{Kind: "APIVersions"},
		Versions: []string{},
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{
			{ClientCIDR: "0.0.0.0/0", ServerAddress: serverAddress}},
	}
	list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	core, others := newAggregated(), newAggregated()
	pages := map[string]*page{}
	for _, gvs := range s.groups() {
		aggregated, root := others, "/apis/"+gvs[0].Group
		if gvs[0].Group == "" {
			aggregated, root = core, "/api"
		}
		aggregated.Items = append(aggregated.Items, s.aggregate(gvs))
		for _, gv := range gvs {
			if _, remote := s.remotes[gv]; !remote {
				pages[root+"/"+gv.Version] = newPage(s.resourceList(gv), nil)
			}
			if gv.Group == "" {
				versions.Versions = append(versions.Versions, gv.Version)
			}
		}
		if gvs[0].Group != "" {
			group := describeGroup(gvs)
			list.Groups = append(list.Groups, group)
			group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
			pages[root] = newPage(&group, nil)
			pages[root].lenient = true
		}
	}
	pages["/api"] = newPage(versions, core)
	pages["/apis"] = newPage(list, others)
	pages["/apis"].lenient = true
	return pages
}

func (s *snapshot) resourceList(gv schema.GroupVersion) runtime.Object {
	list := &metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: gv.String(),
		APIResources: s.installed[gv],
	}
	if gv.Group == "" {
		list.APIVersion = ""
	}
	if list.APIResources == nil {
		list.APIResources = []metav1.APIResource{}
	}
	return list
}

func describeGroup(gvs []schema.GroupVersion) metav1.APIGroup {
	group := metav1.APIGroup{Name: gvs[0].Group}
	for _, gv := range gvs {
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version})
	}
	group.PreferredVersion = group.Versions[0]
	return group
}

// mapper makes a new mapper at each call, because it is rarely needed.
func (s *snapshot) mapper() meta.RESTMapper {
	var groups []*restmapper.APIGroupResources
	for _, gvs := range s.groups() {
		group := &restmapper.APIGroupResources{Group: describeGroup(gvs), VersionedResources: map[string][]metav1.APIResource{}}
		for _, gv := range gvs {
			group.VersionedResources[gv.Version] = s.installed[gv]
			if remote, ok := s.remotes[gv]; ok {
				group.VersionedResources[gv.Version] = resourcesOf(&remote)
			}
		}
		groups = append(groups, group)
	}
	return restmapper.NewDiscoveryRESTMapper(groups)
}

// resourcesOf returns the known resources of another server, without their subresources.
func resourcesOf(r *Remote) (all []metav1.APIResource) {
	for i := range r.Resources {
		one := &r.Resources[i]
		resource := metav1.APIResource{
			Name: one.Resource, SingularName: one.SingularResource, Namespaced: one.Scope == apidiscoveryv2.ScopeNamespace,
			Verbs: one.Verbs,
		}
		if one.ResponseKind != nil {
			resource.Kind = one.ResponseKind.Kind
		}
		all = append(all, resource)
	}
	return all
}

func newAggregated() *apidiscoveryv2.APIGroupDiscoveryList {
	list := &apidiscoveryv2.APIGroupDiscoveryList{Items: []apidiscoveryv2.APIGroupDiscovery{}}
	list.SetGroupVersionKind(apidiscoveryv2.SchemeGroupVersion.WithKind("APIGroupDiscoveryList"))
	return list
}

func (s *snapshot) aggregate(gvs []schema.GroupVersion) apidiscoveryv2.APIGroupDiscovery {
	group := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: gvs[0].Group}}
	for _, gv := range gvs {
		version := apidiscoveryv2.APIVersionDiscovery{Version: gv.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
		if remote, ok := s.remotes[gv]; ok {
			if version.Resources = remote.Resources; remote.Stale {
				version.Freshness = apidiscoveryv2.DiscoveryFreshnessStale
			}
		} else {
			version.Resources = Aggregate(s.installed[gv])
		}
		group.Versions = append(group.Versions, version)
	}
	return group
}

// Aggregate puts subresources beneath their resources. A subresource without a resource gets one that has no verbs.
func Aggregate(resources []metav1.APIResource) []apidiscoveryv2.APIResourceDiscovery {
	var out []apidiscoveryv2.APIResourceDiscovery
	index := map[string]int{}
	add := func(plural string, r apidiscoveryv2.APIResourceDiscovery) {
		index[plural] = len(out)
		out = append(out, r)
	}
	for _, r := range resources {
		if !strings.Contains(r.Name, "/") {
			add(r.Name, apidiscoveryv2.APIResourceDiscovery{
				Resource: r.Name, Scope: scopeOf(r), ResponseKind: responseKind(r), Verbs: r.Verbs,
				ShortNames: r.ShortNames, Categories: r.Categories, SingularResource: r.SingularName,
			})
		}
	}
	for _, r := range resources {
		plural, subresource, ok := strings.Cut(r.Name, "/")
		if !ok {
			continue
		}
		if _, ok := index[plural]; !ok {
			// Some clients require a kind.
			add(plural, apidiscoveryv2.APIResourceDiscovery{Resource: plural, Scope: scopeOf(r), ResponseKind: &metav1.GroupVersionKind{}})
		}
		parent := &out[index[plural]]
		parent.Subresources = append(parent.Subresources, apidiscoveryv2.APISubresourceDiscovery{
			Subresource: subresource, ResponseKind: responseKind(r), Verbs: r.Verbs})
	}
	return out
}

func scopeOf(r metav1.APIResource) apidiscoveryv2.ResourceScope {
	if r.Namespaced {
		return apidiscoveryv2.ScopeNamespace
	}
	return apidiscoveryv2.ScopeCluster
}

// responseKind returns the kind of a resource. As in Kubernetes, an empty group and version stand for those of the
// resource.
func responseKind(r metav1.APIResource) *metav1.GroupVersionKind {
	return &metav1.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
}
