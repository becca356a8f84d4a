package server_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/filter"
)

const structurePath = "/apis/kx.dev/v1alpha1/structure"

func (r *running) part(t testing.TB, name string) *v1alpha1.Structure {
	t.Helper()
	part := &v1alpha1.Structure{}
	if code := r.read(t, structurePath+"/"+name, part); code != http.StatusOK {
		t.Fatalf("%s: %d", name, code)
	}
	return part
}

func (r *running) structure(t testing.TB, query string) []v1alpha1.Structure {
	t.Helper()
	var list v1alpha1.StructureList
	if code := r.read(t, structurePath+query, &list); code != http.StatusOK {
		t.Fatalf("structure%s: %d", query, code)
	}
	return list.Items
}

// sources reads files of the server's source, each once.
type sources struct {
	r     *running
	lines map[string][]string
}

// check says whether a place is what it is called.
func (s *sources) check(t testing.TB, of string, p v1alpha1.CodePlace) {
	t.Helper()
	if s.lines[p.File] == nil {
		var source v1alpha1.Source
		if code := s.r.read(t, "/apis/kx.dev/v1alpha1/sources/"+v1alpha1.SourceName(p.File), &source); code != http.StatusOK {
			t.Errorf("%s: %+v has no source: %d", of, p, code)
			return
		}
		s.lines[p.File] = strings.Split(source.Spec.Text, "\n")
	}
	short := p.Name[strings.LastIndexByte(p.Name, '.')+1:]
	declared := slices.ContainsFunc(s.lines[p.File][:min(int(p.Line), len(s.lines[p.File]))], func(line string) bool {
		return strings.Contains(line, short)
	})
	if !declared {
		t.Errorf("%s: in %s, up to line %d, there is no %s", of, p.File, p.Line, short)
	}
}

// TestStructure holds the map against what else the server says of itself.
func TestStructure(t *testing.T) {
	t.Parallel()
	r := shared(t)
	all := r.structure(t, "")
	files := &sources{r: r, lines: map[string][]string{}}
	var filters, servers []string
	names := map[string]bool{}
	for i := range all {
		part := &all[i]
		if names[part.Name] {
			t.Errorf("%s is there twice", part.Name)
		}
		names[part.Name] = true
		if c := part.Spec.Controller; c == nil || c.State == v1alpha1.ControllerRunning {
			files.check(t, part.Name, part.Spec.Source)
		}
		if part.Spec.Title == "" {
			t.Errorf("%s has no title", part.Name)
		}
		switch s := &part.Spec; s.Part {
		case v1alpha1.PartFilter:
			filters = append(filters, fmt.Sprintf("%s %s %d", s.Filter.Step, s.Source.Name, s.Filter.Position))
		case v1alpha1.PartServer:
			servers = append(servers, strings.TrimSpace(strings.TrimPrefix(part.Name, "server:")+" "+s.Server.Delegate))
		}
	}
	var chain []string
	for i, f := range filter.Chain(true) {
		info := f.Step.Info()
		chain = append(chain, fmt.Sprintf("%s server/filter.%s %d", info.Name, info.Upstream.Symbol, i+1))
	}
	if !slices.Equal(filters, chain) {
		t.Errorf("filters %q\nwant %q", filters, chain)
	}
	if want := []string{"aggregator kube", "kube apiextensions", "apiextensions custom-resources", "custom-resources not-found", "not-found"}; !slices.Equal(servers, want) {
		t.Errorf("servers %q, want %q", servers, want)
	}
	testAgainstDiscovery(t, r, files)
	for _, path := range []string{structurePath, structurePath + "/filter:cors", "/apis/kx.dev/v1alpha1/sources", "/apis/kx.dev/v1alpha1/sources/server.chain.go"} {
		if res, body := ask(t, r.anyone(t), "GET", r.URL+path, nil); res.StatusCode != http.StatusForbidden && res.StatusCode != http.StatusUnauthorized {
			t.Errorf("anybody may read %s: %d %.200s", path, res.StatusCode, body)
		}
	}
}

// TestStructureOfControllers: the map says where the code of each controller that runs is, a function or a type of its own.
func TestStructureOfControllers(t *testing.T) {
	t.Parallel()
	r, _ := launchLogged(t)
	r.ready(t)
	files := &sources{r: r, lines: map[string][]string{}}
	names := map[string]bool{}
	for _, part := range r.structure(t, "") {
		if c := part.Spec.Controller; c == nil || c.State != v1alpha1.ControllerRunning {
			continue
		}
		p := part.Spec.Source
		if files.check(t, part.Name, p); p.Doc == "" || !strings.HasPrefix(p.Name, "server/controller") || names[p.Name] {
			t.Errorf("%s: %+v", part.Name, p)
		}
		names[p.Name] = true
	}
	if len(names) < 10 {
		t.Errorf("only these run: %v", names)
	}
}

// testAgainstDiscovery compares what the installer says with what discovery tells, and asks for what is said to be absent.
func testAgainstDiscovery(t *testing.T, r *running, files *sources) {
	_, lists, err := r.admin(t).Discovery().ServerGroupsAndResources()
	must(t, err)
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		must(t, err)
		if strings.HasSuffix(gv.Group, ".example.com") {
			continue // other tests define these, and delete them
		}
		for _, resource := range list.APIResources {
			plural, subresource, _ := strings.Cut(resource.Name, "/")
			name := plural + "." + gv.Version
			if gv.Group != "" {
				name += "." + gv.Group
			}
			part := r.part(t, name)
			i := slices.IndexFunc(part.Spec.Resource.Storages, func(s v1alpha1.StructureStorage) bool { return s.Subresource == subresource })
			if i < 0 {
				t.Errorf("%s has no storage for %q", name, subresource)
				continue
			}
			storage := &part.Spec.Resource.Storages[i]
			verbs := map[string]bool{}
			for _, route := range storage.Routes {
				verbs[route.Verb] = true
				files.check(t, name+" "+route.Verb, route.Handler)
				if route.Calls != nil {
					files.check(t, name+" "+route.Verb, *route.Calls)
				} else if !strings.HasPrefix(name, "journeys") {
					t.Errorf("%s: it is not known what %s calls of %s", name, route.Verb, storage.Type.Name)
				}
			}
			for _, verb := range resource.Verbs {
				if !verbs[verb] {
					t.Errorf("%s: discovery has the verb %s of %q, and there is no route", name, verb, subresource)
				}
			}
			for _, absence := range storage.Absent {
				if slices.Contains(resource.Verbs, absence.Verb) && absence.Verb != "watch" || absence.Reason == "" {
					t.Errorf("%s: discovery has the verb %s of %q, and it is absent: %q", name, absence.Verb, subresource, absence.Reason)
				}
			}
			if subresource == "" && (resource.Kind != part.Spec.Resource.Kind || resource.Namespaced != part.Spec.Resource.Namespaced ||
				!slices.Equal(resource.ShortNames, part.Spec.Resource.ShortNames)) {
				t.Errorf("%s: discovery says %+v, the map %+v", name, resource, part.Spec.Resource)
			}
		}
	}
}

// TestStructureOfAResource reads one in full.
func TestStructureOfAResource(t *testing.T) {
	t.Parallel()
	r := shared(t)
	var part *v1alpha1.Structure
	until(t, "a cache that is read is fresh", func() bool {
		_, err := r.admin(t).AppsV1().Deployments("").List(within(t), metav1.ListOptions{})
		must(t, err)
		part = r.part(t, "deployments.v1.apps")
		cache := part.Spec.Resource.Cache
		return cache != nil && cache.State == v1alpha1.CacheFresh
	})
	d := part.Spec.Resource
	if d.StoredAs != "apps/v1 Deployment" || d.Key != "/registry/deployments/" || d.Cache == nil || d.Cache.State != v1alpha1.CacheFresh ||
		d.Server != "kube" || strings.Join(d.Subresources, " ") != "scale status" || d.Definition != "" || strings.Join(d.Categories, " ") != "all" {
		t.Errorf("%+v, cache %+v", d, d.Cache)
	}
	var text []string
	for _, s := range d.Storages {
		text = append(text, fmt.Sprintf("%q %s %s", s.Subresource, s.Kind, s.Type.Name))
		for _, strategy := range s.Strategies {
			text = append(text, fmt.Sprintf("  %s %s", strategy.For, strategy.Type.Name))
		}
		for _, route := range s.Routes {
			text = append(text, fmt.Sprintf("  %s %s %s: %s, %s", route.Verb, route.Method, route.Path, route.Handler.Name, route.Calls.Name))
		}
		for _, absence := range s.Absent {
			text = append(text, fmt.Sprintf("  no %s: %s", absence.Verb, absence.Reason))
		}
	}
	if got := strings.Join(text, "\n"); got != deploymentsStructure {
		t.Errorf("got\n%s\nwant\n%s", got, deploymentsStructure)
	}
	if list := d.Storages[0].Routes[0]; list.Handler.Upstream != "ListResource" || list.Handler.UpstreamFile != "staging/src/k8s.io/apiserver/pkg/endpoints/handlers/get.go" ||
		list.Calls.Upstream != "Store.ListPredicate" {
		t.Errorf("upstream of %+v, and of %+v", list.Handler, list.Calls)
	}
	for _, absent := range []struct{ name, verb, reason string }{
		{"events.v1", "none", ""},
		{"caches.v1alpha1.kx.dev", "watch", "the storage is not a rest.Watcher"},
		{"caches.v1alpha1.kx.dev", "create", "the storage is not a rest.Creater and not a rest.NamedCreater"},
	} {
		storages := r.part(t, absent.name).Spec.Resource.Storages
		if found := slices.Contains(storages[0].Absent, v1alpha1.StructureAbsence{Verb: absent.verb, Reason: absent.reason}); found != (absent.reason != "") {
			t.Errorf("%s: %+v", absent.name, storages[0].Absent)
		}
	}
	if code := r.read(t, "/apis/kx.dev/v1alpha1/caches?watch=true", nil); code != http.StatusMethodNotAllowed {
		t.Errorf("a watch that is said to be absent: %d", code)
	}
	if cache := r.part(t, "events.v1").Spec.Resource.Cache; cache != nil {
		t.Errorf("events have a cache: %+v", cache)
	}
}

// TestStructureOfADefinition follows a definition from the moment that it is established.
func TestStructureOfADefinition(t *testing.T) {
	t.Parallel()
	r := shared(t)
	crd := r.define(t, cronTab("structure.example.com"))
	gvr := schema.GroupVersionResource{Group: "structure.example.com", Version: "v1", Resource: "crontabs"}
	tabs := r.dynamic(t).Resource(gvr).Namespace("default")
	watcher, err := tabs.Watch(within(t), metav1.ListOptions{})
	must(t, err)
	defer watcher.Stop()

	part := r.part(t, "definition:"+crd.Name)
	d := part.Spec.Definition
	if part.Spec.Title != "served" || d.Kind != "CronTab" || d.Scope != "Namespaced" || len(d.Versions) != len(crd.Spec.Versions) || d.Serving == nil {
		t.Fatalf("%s: %+v", part.Spec.Title, d)
	}
	if s := d.Serving; s.Requests != 1 || s.TookMicros <= 0 || time.Since(s.Made.Time) > time.Hour || s.StorageVersion != "v1" {
		t.Errorf("%+v", s)
	}
	if !slices.ContainsFunc(d.Conditions, func(c v1alpha1.StructureCondition) bool { return c.Type == "Established" && c.Status == "True" }) {
		t.Errorf("%+v", d.Conditions)
	}
	resource := r.part(t, "crontabs.v1.structure.example.com").Spec.Resource
	if resource.Definition != crd.Name || resource.Server != "custom-resources" || resource.Key != "/registry/structure.example.com/crontabs/" || resource.Cache == nil {
		t.Errorf("%+v", resource)
	}
	for _, route := range resource.Storages[0].Routes {
		if !strings.HasPrefix(route.Handler.Name, "server/handler.") {
			t.Errorf("%s is answered by %s", route.Verb, route.Handler.Name)
		}
	}
	if got := r.structure(t, "?fieldSelector=spec.group=structure.example.com,spec.part=Resource"); len(got) != len(d.Serving.Versions) {
		t.Errorf("%d parts, %v are served", len(got), d.Serving.Versions)
	}
	// What serves a changed definition is made by the request that comes next.
	_, err = r.definitions(t).Patch(within(t), crd.Name, types.JSONPatchType, []byte(`[{"op":"remove","path":"/spec/versions/0/additionalPrinterColumns"}]`), metav1.PatchOptions{})
	must(t, err)
	until(t, "nothing serves the definition", func() bool {
		part = r.part(t, "definition:"+crd.Name)
		return part.Spec.Definition.Serving == nil && part.Spec.Title == "what serves it is made when the next request comes"
	})
	if code := r.read(t, structurePath+"/crontabs.v1.structure.example.com", nil); code != http.StatusNotFound {
		t.Errorf("a resource that nothing serves: %d", code)
	}
	_, err = tabs.List(within(t), metav1.ListOptions{})
	must(t, err)
	until(t, "the next request has made what serves it, and has ended", func() bool {
		serving := r.part(t, "definition:"+crd.Name).Spec.Definition.Serving
		return serving != nil && serving.Requests == 0
	})
	r.undefine(t, crd.Name)
	until(t, "the definition is gone from the structure", func() bool {
		return r.read(t, structurePath+"/definition:"+crd.Name, &v1alpha1.Structure{}) == http.StatusNotFound
	})
}

// structureFile is the map that the tests of the screen show: the list under "", and some parts whole.
const structureFile = "../tui/structure/testdata/structure.json"

// TestStructureRecorded holds what the tests of the screen show against this server, which has all of these parts. -rewrite
// records it anew.
func TestStructureRecorded(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.define(t, cronTab("stable.example.com"))
	gv := schema.GroupVersion{Group: "stable.example.com", Version: "v1"}
	_, err := r.dynamic(t).Resource(gv.WithResource("crontabs")).Namespace("default").Create(within(t), tab(gv, "default", "cleanup"), metav1.CreateOptions{})
	must(t, err)
	if flag.Lookup("rewrite").Value.String() == "true" {
		answers := map[string]json.RawMessage{}
		for _, name := range []string{"", "configmaps.v1", "deployments.v1.apps", "events.v1", "crontabs.v1.stable.example.com", "caches.v1alpha1.kx.dev", "controller:garbage-collector-controller"} {
			var answer json.RawMessage
			if code := r.read(t, strings.TrimSuffix(structurePath+"/"+name, "/"), &answer); code != http.StatusOK {
				t.Fatalf("%s: %d", name, code)
			}
			answers[name] = answer
		}
		data, err := json.MarshalIndent(answers, "", " ")
		must(t, err)
		must(t, os.MkdirAll(filepath.Dir(structureFile), 0o755))
		must(t, os.WriteFile(structureFile, append(newNormal().answers(data), '\n'), 0o644))
	}
	data, err := os.ReadFile(structureFile)
	must(t, err)
	var recorded v1alpha1.StructureList
	answers := map[string]json.RawMessage{}
	must(t, json.Unmarshal(data, &answers))
	must(t, json.Unmarshal(answers[""], &recorded))
	has := map[string]bool{}
	for _, part := range r.structure(t, "") {
		has[part.Name] = true
	}
	for i := range recorded.Items {
		if name := recorded.Items[i].Name; !has[name] {
			t.Errorf("%s is recorded, and the server has no such part: go test ./server -run TestStructureRecorded -rewrite, then go test ./tui/structure -rewrite", name)
		}
	}
	if len(recorded.Items) == 0 {
		t.Error("nothing is recorded")
	}
}

// deploymentsStructure is what the installer made of deployments.
const deploymentsStructure = `"" apps/v1 Deployment server/builtin.REST
  create server/builtin/apps.deploymentStrategy
  update server/builtin/apps.deploymentStrategy
  delete server/builtin/apps.deploymentStrategy
  list GET /apis/apps/v1/namespaces/{namespace}/deployments: server/handler.ListResource, store/registry.Store.List
  list GET /apis/apps/v1/deployments: server/handler.ListResource, store/registry.Store.List
  watch GET /apis/apps/v1/watch/namespaces/{namespace}/deployments: server/handler.ListResource, store/registry.Store.Watch
  watch GET /apis/apps/v1/watch/deployments: server/handler.ListResource, store/registry.Store.Watch
  watch GET /apis/apps/v1/watch/namespaces/{namespace}/deployments/{name}: server/handler.ListResource, store/registry.Store.Watch
  create POST /apis/apps/v1/namespaces/{namespace}/deployments: server/handler.createHandler, store/registry.Store.Create
  deletecollection DELETE /apis/apps/v1/namespaces/{namespace}/deployments: server/handler.DeleteCollection, store/registry.Store.DeleteCollection
  get GET /apis/apps/v1/namespaces/{namespace}/deployments/{name}: server/handler.getResourceHandler, store/registry.Store.Get
  update PUT /apis/apps/v1/namespaces/{namespace}/deployments/{name}: server/handler.UpdateResource, store/registry.Store.Update
  patch PATCH /apis/apps/v1/namespaces/{namespace}/deployments/{name}: server/handler.PatchResource, store/registry.Store.Update
  delete DELETE /apis/apps/v1/namespaces/{namespace}/deployments/{name}: server/handler.DeleteResource, store/registry.Store.Delete
"scale" autoscaling/v1 Scale server/builtin/apps/scale.ScaleREST
  update server/builtin/apps.deploymentStrategy
  get GET /apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale: server/handler.getResourceHandler, server/builtin/apps/scale.ScaleREST.Get
  update PUT /apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale: server/handler.UpdateResource, server/builtin/apps/scale.ScaleREST.Update
  patch PATCH /apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale: server/handler.PatchResource, server/builtin/apps/scale.ScaleREST.Update
  no list: the storage is not a rest.Lister
  no watch: the storage is not a rest.Watcher
  no create: the storage is not a rest.Creater and not a rest.NamedCreater
  no deletecollection: the storage is not a rest.CollectionDeleter
  no delete: the storage is not a rest.GracefulDeleter
"status" apps/v1 Deployment server/builtin.StatusREST
  update server/builtin.StatusStrategy
  get GET /apis/apps/v1/namespaces/{namespace}/deployments/{name}/status: server/handler.getResourceHandler, server/builtin.StatusREST.Get
  update PUT /apis/apps/v1/namespaces/{namespace}/deployments/{name}/status: server/handler.UpdateResource, server/builtin.StatusREST.Update
  patch PATCH /apis/apps/v1/namespaces/{namespace}/deployments/{name}/status: server/handler.PatchResource, server/builtin.StatusREST.Update
  no list: the storage is not a rest.Lister
  no watch: the storage is not a rest.Watcher
  no create: the storage is not a rest.Creater and not a rest.NamedCreater
  no deletecollection: the storage is not a rest.CollectionDeleter
  no delete: the storage is not a rest.GracefulDeleter`
