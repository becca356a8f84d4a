package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/dynamic"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/options"
)

var skyVersion = schema.GroupVersion{Group: "sky.example.com", Version: "v1"}

// Moon is a kind of a program that starts the server. Nothing is generated for it.
type Moon struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              MoonSpec `json:"spec"`
}

type MoonSpec struct {
	Planet string       `json:"planet"`
	Orbits []int32      `json:"orbits,omitempty"`
	Seen   *metav1.Time `json:"seen,omitempty"`
	Inner  *MoonSpec    `json:"inner,omitempty"`
}

// SwaggerDoc is the text for kubectl explain.
func (MoonSpec) SwaggerDoc() map[string]string {
	return map[string]string{"": "Where a moon is.", "planet": "What it goes around."}
}

func (m *Moon) DeepCopyObject() runtime.Object {
	c := *m
	m.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	c.Spec.Orbits = slices.Clone(m.Spec.Orbits)
	return &c
}

type MoonList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Moon `json:"items"`
}

func (l *MoonList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = slices.Clone(l.Items)
	return &c
}

// sky has the moons of one resource. The types below add a verb each.
type sky struct {
	mu       sync.Mutex
	moons    map[string]*Moon
	revision int
	events   *watch.Broadcaster
	shutdown func()
	hasEnded atomic.Bool
}

func newSky(t *testing.T) *sky {
	s := &sky{moons: map[string]*Moon{}, events: watch.NewBroadcaster(100, watch.WaitIfChannelFull)}
	s.shutdown = sync.OnceFunc(s.events.Shutdown)
	t.Cleanup(s.shutdown)
	s.put(watch.Added, &Moon{ObjectMeta: metav1.ObjectMeta{Name: "io"}, Spec: MoonSpec{Planet: "jupiter"}})
	return s
}

// put is for who holds mu, once there are several.
func (s *sky) put(event watch.EventType, m *Moon) *Moon {
	s.revision++
	m.ResourceVersion = strconv.Itoa(s.revision)
	if event == watch.Deleted {
		delete(s.moons, m.Name)
	} else {
		s.moons[m.Name] = m
	}
	_ = s.events.Action(event, m.DeepCopyObject())
	return m
}

func (s *sky) find(name string) (*Moon, error) {
	if m := s.moons[name]; m != nil {
		return m.DeepCopyObject().(*Moon), nil
	}
	return nil, apierrors.NewNotFound(skyVersion.WithResource("moons").GroupResource(), name)
}

func (s *sky) New() runtime.Object     { return &Moon{} }
func (s *sky) NamespaceScoped() bool   { return false }
func (s *sky) GetSingularName() string { return "" }
func (s *sky) Destroy()                { s.hasEnded.Store(true); s.shutdown() }

type gets struct{ *sky }

func (s gets) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(name)
}

type lists struct {
	gets
	rest.TableConvertor
}

func (s lists) NewList() runtime.Object { return &MoonList{} }

func (s lists) List(context.Context, *metainternalversion.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &MoonList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.revision)}}
	for _, name := range slices.Sorted(maps.Keys(s.moons)) {
		list.Items = append(list.Items, *s.moons[name])
	}
	return list, nil
}

type creates struct{ lists }

func (s creates) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := obj.(*Moon)
	if s.moons[m.Name] != nil {
		return nil, apierrors.NewAlreadyExists(skyVersion.WithResource("moons").GroupResource(), m.Name)
	}
	if err := validate(ctx, m); err != nil {
		return nil, err
	}
	rest.FillObjectMetaSystemFields(m)
	return s.put(watch.Added, m), nil
}

type updates struct{ creates }

func (s updates) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, admit rest.UpdateAdmission,
	_ *metav1.UpdateOptions) (runtime.Object, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.find(name)
	if err != nil && !admit.ForceAllowCreate {
		return nil, false, err
	}
	event := watch.Modified
	if err != nil {
		old, event = &Moon{}, watch.Added
	}
	next, err := info.UpdatedObject(ctx, old)
	if err != nil {
		return nil, false, err
	}
	m := next.(*Moon)
	if event == watch.Added {
		rest.FillObjectMetaSystemFields(m)
	}
	return s.put(event, m), event == watch.Added, nil
}

type deletes struct{ updates }

func (s deletes) Delete(_ context.Context, name string, _ rest.ValidateObjectFunc, _ *metav1.DeleteOptions) (runtime.Object, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.find(name)
	if err != nil {
		return nil, false, err
	}
	return s.put(watch.Deleted, m), true, nil
}

type watches struct{ deletes }

func (s watches) Watch(_ context.Context, _ *metainternalversion.ListOptions) (watch.Interface, error) {
	return s.events.Watch()
}

type collections struct{ watches }

func (s collections) DeleteCollection(context.Context, rest.ValidateObjectFunc, *metav1.DeleteOptions, *metainternalversion.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.moons {
		m, _ := s.find(name)
		s.put(watch.Deleted, m)
	}
	return &MoonList{}, nil
}

// skies are storages of which each has the methods of the one before and one more, with the verbs that they get.
func skies(t *testing.T) (names []string, storages map[string]rest.Storage, all []*sky) {
	storages = map[string]rest.Storage{}
	table := rest.NewDefaultTableConvertor(skyVersion.WithResource("moons").GroupResource())
	for _, make := range []func(*sky) rest.Storage{
		func(s *sky) rest.Storage { return gets{s} },
		func(s *sky) rest.Storage { return lists{gets{s}, table} },
		func(s *sky) rest.Storage { return creates{lists{gets{s}, table}} },
		func(s *sky) rest.Storage { return updates{creates{lists{gets{s}, table}}} },
		func(s *sky) rest.Storage { return deletes{updates{creates{lists{gets{s}, table}}}} },
		func(s *sky) rest.Storage { return watches{deletes{updates{creates{lists{gets{s}, table}}}}} },
		func(s *sky) rest.Storage {
			return collections{watches{deletes{updates{creates{lists{gets{s}, table}}}}}}
		},
	} {
		s := newSky(t)
		storage := make(s)
		name := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", storage), "server_test."))
		names, all = append(names, name), append(all, s)
		storages[name] = storage
	}
	return names, storages, all
}

func skyGroup(storages map[string]rest.Storage) endpoint.Group {
	return endpoint.Group{GroupVersion: skyVersion, Storages: storages}
}

// verbsAdded has the verbs that each of skies' storages gets beside those of the one before it, and a request for each.
var verbsAdded = []struct{ verb, method, path, contentType, body string }{
	{"get", "GET", "/io", "", ""},
	{"list", "GET", "", "", ""},
	{"create", "POST", "", "application/json", `{"apiVersion":"sky.example.com/v1","kind":"Moon","metadata":{"name":"europa"},"spec":{"planet":"jupiter"}}`},
	{"update", "PUT", "/io", "application/json", `{"apiVersion":"sky.example.com/v1","kind":"Moon","metadata":{"name":"io"},"spec":{"planet":"saturn"}}`},
	{"delete", "DELETE", "/io", "", ""},
	{"watch", "GET", "?watch=true&timeoutSeconds=1", "", ""},
	{"deletecollection", "DELETE", "", "", ""},
}

// TestOwnVerbs adds one method after the other to a storage. Each brings its verb, in discovery and over HTTP.
func TestOwnVerbs(t *testing.T) {
	t.Parallel()
	names, storages, all := skies(t)
	r, stop, err := launchWith([]endpoint.RESTStorageProvider{skyGroup(storages)})
	must(t, err)
	stopOnce := sync.OnceValue(stop)
	t.Cleanup(func() { must(t, stopOnce()) })
	var resources metav1.APIResourceList
	r.read(t, "/apis/sky.example.com/v1", &resources)
	discovered := map[string][]string{}
	for _, resource := range resources.APIResources {
		discovered[resource.Name] = resource.Verbs
	}
	client := r.httpClient(t)
	for i, name := range names {
		var want []string
		for k, v := range verbsAdded {
			there := k <= i
			if there {
				want = append(want, v.verb)
			}
			if v.verb == "update" && there {
				want = append(want, "patch") // who can get and update can patch
			}
			if there && (v.verb == "delete" || v.verb == "watch") {
				continue // they would end what the others ask for, or take a second; TestOwnObjects has them
			}
			res, body := ask(t, client, v.method, r.URL+"/apis/sky.example.com/v1/"+name+v.path, strings.NewReader(v.body), "Content-Type: "+v.contentType)
			lacking := http.StatusMethodNotAllowed
			if name == "gets" && v.path != "/io" {
				lacking = http.StatusNotFound // nothing is at that path
			}
			if there && res.StatusCode >= 300 || !there && res.StatusCode != lacking {
				t.Errorf("%s: %s: %d: %s", name, v.verb, res.StatusCode, body)
			}
		}
		if slices.Sort(want); !slices.Equal(discovered[name], want) {
			t.Errorf("%s has %v, want %v", name, discovered[name], want)
		}
	}
	must(t, stopOnce())
	for i, s := range all {
		if !s.hasEnded.Load() {
			t.Errorf("the storage of %s was not destroyed", names[i])
		}
	}
}

// TestOwnObjects uses a resource as clients do, and looks at what the server tells of it.
func TestOwnObjects(t *testing.T) {
	t.Parallel()
	names, storages, _ := skies(t)
	moons := storages[names[len(names)-1]]
	r, stop, err := launchWith([]endpoint.RESTStorageProvider{skyGroup(map[string]rest.Storage{"moons": moons})})
	must(t, err)
	t.Cleanup(func() { must(t, stop()) })
	ctx := within(t)
	client := r.dynamic(t).Resource(skyVersion.WithResource("moons"))
	watcher, err := client.Watch(ctx, metav1.ListOptions{})
	must(t, err)
	defer watcher.Stop()
	seen := func(event watch.EventType, name string) {
		t.Helper()
		e := <-watcher.ResultChan()
		m, ok := e.Object.(metav1.Object)
		if !ok || e.Type != event || m.GetName() != name {
			t.Errorf("the watch saw %v, want %s %s", e, event, name)
		}
	}

	created, err := client.Create(ctx, moon("titan", "saturn"), metav1.CreateOptions{})
	must(t, err)
	if created.GetUID() == "" || len(created.GetManagedFields()) != 1 {
		t.Errorf("created %v", created)
	}
	seen(watch.Added, "titan")
	patched, err := client.Patch(ctx, "titan", types.MergePatchType, []byte(`{"spec":{"orbits":[1,2]}}`), metav1.PatchOptions{})
	must(t, err)
	if fmt.Sprint(patched.Object["spec"]) != "map[orbits:[1 2] planet:saturn]" {
		t.Errorf("patched %v", patched)
	}
	seen(watch.Modified, "titan")
	applied, err := client.Apply(ctx, "rhea", moon("rhea", "saturn"), metav1.ApplyOptions{FieldManager: "one"})
	must(t, err)
	if fields := applied.GetManagedFields(); len(fields) != 1 || fields[0].Manager != "one" {
		t.Errorf("applied %v", applied)
	}
	seen(watch.Added, "rhea")
	if _, err = client.Apply(ctx, "rhea", moon("rhea", "mars"), metav1.ApplyOptions{FieldManager: "two"}); !apierrors.IsConflict(err) {
		t.Errorf("somebody else's field is applied: %v", err)
	}
	must(t, client.Delete(ctx, "titan", metav1.DeleteOptions{}))
	seen(watch.Deleted, "titan")
	if _, err = client.Get(ctx, "titan", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get what is deleted: %v", err)
	}
	if _, err = client.Create(ctx, moonWith("phobos", "plant"), metav1.CreateOptions{FieldValidation: "Strict"}); !apierrors.IsBadRequest(err) {
		t.Errorf("an unknown field: %v", err)
	}

	r.wantMoonTable(t)
	r.wantMoonDescribed(t)
	r.wantMoonJourneys(t, client)
}

func moon(name, planet string) *unstructured.Unstructured {
	return moonOf(name, map[string]any{"planet": planet})
}

func moonWith(name, field string) *unstructured.Unstructured {
	return moonOf(name, map[string]any{field: "mars"})
}

func moonOf(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": skyVersion.String(), "kind": "Moon", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// wantMoonTable wants a table like any resource's.
func (r *running) wantMoonTable(t *testing.T) {
	t.Helper()
	var table metav1.Table
	must(t, json.Unmarshal(r.get(t, "/apis/sky.example.com/v1/moons", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io"), &table))
	if len(table.Rows) != 2 || table.Rows[0].Cells[0] != "io" || table.ColumnDefinitions[0].Name != "Name" {
		t.Errorf("the table is %+v", table)
	}
	// A type without generated code has no protobuf form.
	res, _ := ask(t, r.httpClient(t), "GET", r.URL+"/apis/sky.example.com/v1/moons", nil, "Accept: "+runtime.ContentTypeProtobuf)
	if res.StatusCode != http.StatusNotAcceptable {
		t.Errorf("protobuf: %d", res.StatusCode)
	}
}

// wantMoonDescribed wants the kind in OpenAPI by its fields.
func (r *running) wantMoonDescribed(t *testing.T) {
	t.Helper()
	var document struct {
		Paths      map[string]any
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Description, Ref string
					AllOf            []any
					Properties       map[string]struct{ Type, Description string }
				}
			}
		}
	}
	must(t, json.Unmarshal(r.get(t, "/openapi/v3/apis/sky.example.com/v1"), &document))
	kind, ok := document.Components.Schemas["com.example.sky.v1.Moon"]
	spec := kind.Properties["spec"]
	if !ok || spec.Description != "Where a moon is." || spec.Properties["planet"].Description != "What it goes around." ||
		spec.Properties["planet"].Type != "string" || spec.Properties["orbits"].Type != "array" || len(spec.Properties) != 4 {
		t.Errorf("the kind is described as %+v", kind)
	}
	if _, ok := document.Components.Schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]; !ok {
		t.Error("the document lacks what the kind refers to")
	}
	if list := document.Components.Schemas["com.example.sky.v1.MoonList"]; list.Properties["items"].Description != "" || len(list.Properties) != 4 {
		t.Errorf("the list is described as %+v", list)
	}
	if document.Paths["/apis/sky.example.com/v1/moons/{name}"] == nil {
		t.Errorf("the paths are %v", slices.Sorted(maps.Keys(document.Paths)))
	}
	if v2 := string(r.get(t, "/openapi/v2")); !strings.Contains(v2, `"com.example.sky.v1.Moon":`) {
		t.Error("OpenAPI v2 lacks the kind")
	}
}

// wantMoonJourneys wants its requests to be journeys, with the function of the storage in them, and its installation to be one.
func (r *running) wantMoonJourneys(t *testing.T, client dynamic.ResourceInterface) {
	t.Helper()
	_, err := client.Get(within(t), "io", metav1.GetOptions{})
	must(t, err)
	found := r.journeysOf(t, "?filter="+url.QueryEscape("verb:get resource:moons name:io step:rest.get code:200"))
	if len(found) != 1 {
		t.Fatalf("%d journeys of a get", len(found))
	}
	step := stepOf(r.journeyOf(t, found[0].Name), steps.RESTGet)
	if step == nil || !slices.ContainsFunc(step.Attributes, func(a v1alpha1.Attribute) bool {
		return strings.Contains(a.Value, "gets.Get") && strings.Contains(a.Value, "own_test.go")
	}) {
		t.Errorf("the step is %+v", step)
	}
	installs := r.journeysOf(t, "?filter="+url.QueryEscape("verb:install resource:moons group:sky.example.com"))
	if len(installs) != 1 {
		t.Fatalf("%d installs", len(installs))
	}
	if reason := reasonsOf(r.journeyOf(t, installs[0].Name)); !strings.Contains(reason, "rest.GracefulDeleter") {
		t.Errorf("the install says %s", reason)
	}
}

func stepOf(j *v1alpha1.Journey, id steps.ID) *v1alpha1.Step {
	for i := range j.Status.Steps {
		if j.Status.Steps[i].ID == id.String() {
			return &j.Status.Steps[i]
		}
	}
	return nil
}

func reasonsOf(j *v1alpha1.Journey) string {
	text, _ := json.Marshal(j.Status.Steps)
	return string(text)
}

// names is a storage of objects that can't be decoded into.
type names struct{ gets }

type name string

func (name) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (n name) DeepCopyObject() runtime.Object { return n }
func (names) New() runtime.Object             { return name("") }

// TestOwnRefused starts no server with groups that can't be served.
func TestOwnRefused(t *testing.T) {
	t.Parallel()
	moons := map[string]rest.Storage{"moons": gets{newSky(t)}}
	for name, c := range map[string]struct {
		groups []endpoint.Group
		want   string
	}{
		"a built-in group":         {[]endpoint.Group{{GroupVersion: schema.GroupVersion{Group: "apps", Version: "v9"}, Storages: moons}}, `the API group "apps" is built in`},
		"the core group":           {[]endpoint.Group{{GroupVersion: schema.GroupVersion{Version: "v1"}, Storages: moons}}, `the API group "" is built in`},
		"kx's own":                 {[]endpoint.Group{{GroupVersion: v1alpha1.SchemeGroupVersion, Storages: moons}}, `the API group "kx.dev" is built in`},
		"no version":               {[]endpoint.Group{{GroupVersion: schema.GroupVersion{Group: "sky.example.com"}, Storages: moons}}, "is not a group and a version"},
		"no storages":              {[]endpoint.Group{{GroupVersion: skyVersion}}, "the group has no storages"},
		"a kind that is no struct": {[]endpoint.Group{{GroupVersion: skyVersion, Storages: map[string]rest.Storage{"names": names{}}}}, "names: its New makes a server_test.name, not a pointer to a struct"},
		"twice":                    {[]endpoint.Group{skyGroup(moons), skyGroup(moons)}, "sky.example.com/v1 is installed already"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options.New()
			o.Ephemeral, o.Listen = true, "127.0.0.1:0"
			var own []endpoint.RESTStorageProvider
			for _, g := range c.groups {
				own = append(own, g)
			}
			s, err := server.Start(t.Context(), o, slog.New(slog.DiscardHandler), own...)
			if err == nil {
				ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
				defer cancel()
				_ = s.Stop(ctx)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// craters are in namespaces. Their storage says who asks, and for which namespace.
type craters struct{ gets }

func (craters) NamespaceScoped() bool { return true }

func (craters) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	who, _ := request.UserFrom(ctx)
	return &Moon{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: request.NamespaceValue(ctx)}, Spec: MoonSpec{Planet: who.GetName()}}, nil
}

// TestOwnContext wants a storage to know from its context what is known of the request.
func TestOwnContext(t *testing.T) {
	t.Parallel()
	r, stop, err := launchWith([]endpoint.RESTStorageProvider{skyGroup(map[string]rest.Storage{"craters": craters{gets{newSky(t)}}})})
	must(t, err)
	t.Cleanup(func() { must(t, stop()) })
	crater, err := r.dynamic(t).Resource(skyVersion.WithResource("craters")).Namespace("far-side").Get(within(t), "tycho", metav1.GetOptions{})
	must(t, err)
	if planet, _, _ := unstructured.NestedString(crater.Object, "spec", "planet"); crater.GetNamespace() != "far-side" || planet != "kx-admin" {
		t.Errorf("got %v", crater)
	}
}
