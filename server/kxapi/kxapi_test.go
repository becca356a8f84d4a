package kxapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/openapi"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/cacher"
	"github.com/kx-apiserver/kx/store/etcd3"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

const root = "/apis/kx.dev/v1alpha1/journeys"

// newServer serves the group over real HTTP.
func newServer(t *testing.T, recorder *trace.Recorder) *httptest.Server {
	t.Helper()
	return newServerOf(t, recorder, &cacher.Caches{})
}

func newServerOf(t *testing.T, recorder *trace.Recorder, caches *cacher.Caches) *httptest.Server {
	t.Helper()
	s := &endpoint.GenericAPIServer{
		Discovery:                  discovery.NewManager("test"),
		OpenAPI:                    openapi.NewService("test"),
		EquivalentResourceRegistry: runtime.NewEquivalentResourceRegistry(),
		MinRequestTimeout:          time.Hour,
	}
	group := NewAPIGroupInfo(Config{Journeys: recorder, Reasons: trace.NewCatalogue(etcd3.Reasons()), Caches: caches, Allow: options.Allow{Breakpoints: options.Always, Faults: options.Always}, Source: sourceTree(t)})
	s.Router = endpoint.NewRouter("test", group.NegotiatedSerializer, endpoint.NotFoundHandler)
	if err := s.InstallAPIGroup(&group); err != nil {
		t.Fatal(err)
	}
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, err := resolver.NewRequestInfo(r)
		if err != nil {
			t.Error(err)
			return
		}
		s.Router.ServeHTTP(w, r.WithContext(request.WithRequestInfo(r.Context(), info)))
	}))
	t.Cleanup(server.Close)
	return server
}

func get(t *testing.T, url string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func names(t *testing.T, body string) string {
	t.Helper()
	var list v1alpha1.JourneyList
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var out []string
	for _, j := range list.Items {
		if len(j.Status.Steps) > 0 {
			t.Errorf("%s is listed with its steps", j.Name)
		}
		out = append(out, j.Name)
	}
	return strings.Join(out, " ")
}

// because is a reason whose text is a client's.
var because = trace.Because("because", "{text:quote}", "{text:quote}")

// travel makes a journey that takes one step.
func travel(r *trace.Recorder, verb, name string, code int) *trace.Journey {
	ctx, j := r.Begin(context.Background(), trace.Request{Method: "X", URI: "/x", Verb: verb, Resource: "configmaps", Namespace: "n", Name: name, User: "u"})
	_, s := trace.Start(ctx, steps.StoreGet, "/configmaps/n/"+name)
	s.Int("revision", 7)
	s.Text("resourceVersion", "5")
	s.WhyText(because, "because of "+name)
	s.End(nil)
	if code != 0 {
		j.Finish(trace.Response{Code: code, Bytes: 3})
	}
	return j
}

func TestListAndGet(t *testing.T) {
	r := trace.NewRecorder("p", trace.DefaultLimits)
	server := newServer(t, r)
	travel(r, "get", "a", 200)
	travel(r, "update", "b", 409)
	running := travel(r, "get", "c", 0)

	for query, want := range map[string]string{
		"":                               "p-1 p-2 p-3",
		"filter=code:409":                "p-2",
		`filter=why:"because of a"`:      "p-1",
		"filter=step:store.get !name:b":  "p-1 p-3",
		"filter=phase:running":           "p-3",
		"fieldSelector=spec.verb=update": "p-2",
		"fieldSelector=status.phase=Running,spec.name=c": "p-3",
		"fieldSelector=spec.verb=get&filter=code:200":    "p-1",
		"labelSelector=x":                         "",
		"limit=1":                                 "p-1 p-2 p-3",
		"resourceVersion=0":                       "p-1 p-2 p-3",
		"filter=steps:1":                          "p-1 p-2 p-3",
		"filter=because":                          "p-1 p-2 p-3",
		"filter=after:p-1 !phase:running":         "p-2",
		"filter=after:p-3":                        "",
		`filter=step(store.get why:"of b")`:       "p-2",
		"filter=step(store.get) steps(store.*)=1": "p-1 p-2 p-3",
		"filter=store.get -> store.get":           "",
		"filter=touched:spec | delivered:x":       "",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if code, body := get(t, server.URL+root+"?"+values.Encode()); code != 200 || names(t, body) != want {
			t.Errorf("%s: %d %s, want %s", query, code, body, want)
		}
	}
	for path, want := range map[string]int{
		root + "?filter=verb:(":             400,
		root + "?filter=after:p-4":          400,
		root + "?filter=after:q-1":          400,
		root + "?fieldSelector=spec.code=5": 400,
		root + "/p-9":                       404,
	} {
		if code, body := get(t, server.URL+path); code != want || !strings.Contains(body, `"kind":"Status"`) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, _ := get(t, server.URL+root, "Accept", "application/vnd.kubernetes.protobuf"); code != 406 {
		t.Errorf("protobuf is answered %d", code)
	}

	_, body := get(t, server.URL+root+"/p-2")
	var j v1alpha1.Journey
	if err := json.Unmarshal([]byte(body), &j); err != nil {
		t.Fatal(err)
	}
	if j.Status.Phase != v1alpha1.JourneyComplete || j.Status.Code != 409 || len(j.Status.Steps) != 1 {
		t.Fatalf("%+v", j)
	}
	s := j.Status.Steps[0]
	if s.ID != "store.get" || s.Layer != "store" || s.File != "server/kxapi/kxapi_test.go" || s.Why != "because of b" || s.Parent != -1 ||
		fmt.Sprint(s.Attributes) != "[{revision 7} {resourceVersion 5}]" {
		t.Errorf("%+v", s)
	}
	// One that runs is waited for, and then shown as it is.
	if _, body := get(t, server.URL+root+"/"+running.ID()); !strings.Contains(body, `"phase":"Running"`) {
		t.Error(body)
	}
}

func TestTable(t *testing.T) {
	r := trace.NewRecorder("p", trace.DefaultLimits)
	server := newServer(t, r)
	travel(r, "get", "a", 200)
	_, body := get(t, server.URL+root, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	var table metav1.Table
	if err := json.Unmarshal([]byte(body), &table); err != nil || len(table.Rows) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	cells := table.Rows[0].Cells
	if fmt.Sprint(cells[:6]) != "[p-1 get configmaps n/a u 200]" {
		t.Errorf("%v", cells)
	}
}

// follow watches until stopped, and hands out the events.
func follow(t *testing.T, url string) <-chan watch.Event {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan watch.Event)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(events)
		defer res.Body.Close()
		for d := json.NewDecoder(res.Body); ; {
			var e struct {
				Type   watch.EventType
				Object json.RawMessage
			}
			if d.Decode(&e) != nil {
				return
			}
			var object runtime.Object = &v1alpha1.Journey{}
			if e.Type == watch.Error {
				object = &metav1.Status{}
			}
			if json.Unmarshal(e.Object, object) != nil {
				return
			}
			select {
			case events <- watch.Event{Type: e.Type, Object: object}:
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended; http.DefaultClient.CloseIdleConnections() })
	return events
}

func expect(t *testing.T, events <-chan watch.Event, eventType watch.EventType, name string) *v1alpha1.Journey {
	t.Helper()
	e := <-events
	j, ok := e.Object.(*v1alpha1.Journey)
	if !ok || e.Type != eventType || j.Name != name {
		t.Fatalf("%s %+v, want %s of %s", e.Type, e.Object, eventType, name)
	}
	return j
}

func TestWatch(t *testing.T) {
	limits := trace.DefaultLimits
	limits.Journeys = 2
	r := trace.NewRecorder("p", limits)
	server := newServer(t, r)
	old := travel(r, "get", "a", 200)
	events := follow(t, server.URL+root+"?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
	expect(t, events, watch.Added, old.ID())
	if b := expect(t, events, watch.Bookmark, ""); b.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("the bookmark's annotations are %v", b.Annotations)
	}
	j := travel(r, "update", "b", 0)
	expect(t, events, watch.Added, j.ID())
	j.Finish(trace.Response{Code: 200})
	if seen := expect(t, events, watch.Modified, j.ID()); seen.Status.Code != 200 || seen.Status.Phase != v1alpha1.JourneyComplete {
		t.Errorf("%+v", seen.Status)
	}
	last := travel(r, "get", "c", 200)
	if seen := expect(t, events, watch.Added, last.ID()); seen.Status.Phase != v1alpha1.JourneyComplete {
		t.Error("what began and ended at once is two events")
	}
	expect(t, events, watch.Deleted, old.ID())
}

// TestWatchDelivered is told of a write when its event has reached a watcher, although the write has ended by then. Who did not
// ask for that is told of the write once.
func TestWatchDelivered(t *testing.T) {
	r := trace.NewRecorder("p", trace.DefaultLimits)
	server := newServer(t, r)
	events := follow(t, server.URL+root+"?watch=true&filter=delivered:informer")
	ctx, j := r.Begin(context.Background(), trace.Request{Method: "PUT", Verb: "update", Name: "a"})
	trace.Wrote(ctx, 7)
	j.Finish(trace.Response{Code: 200})
	for _, agent := range []string{"kubectl", "an-informer/v1"} {
		watching, _ := r.Begin(context.Background(), trace.Request{Method: "GET", Verb: "watch", UserAgent: agent})
		trace.RecordDelivery(watching, "MODIFIED", 7)
	}
	expect(t, events, watch.Added, j.ID())
	// Who has listed before the delivery hears of it too.
	_, list := get(t, server.URL+root)
	late := follow(t, server.URL+root+"?watch=true&filter=delivered:informer&resourceVersion="+fmt.Sprint(versionOf(t, list)))
	expect(t, late, watch.Modified, j.ID())
}

func versionOf(t *testing.T, body string) uint64 {
	t.Helper()
	var list v1alpha1.JourneyList
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	version, err := strconv.ParseUint(list.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

func TestWatchFromThere(t *testing.T) {
	limits := trace.DefaultLimits
	limits.Changes = 4
	r := trace.NewRecorder("p", limits)
	server := newServer(t, r)
	travel(r, "get", "a", 200)
	_, body := get(t, server.URL+root)
	events := follow(t, server.URL+root+"?watch=true&filter=code:409&resourceVersion="+fmt.Sprint(versionOf(t, body)))
	travel(r, "update", "b", 200)
	j := travel(r, "update", "c", 0)
	j.Finish(trace.Response{Code: 409})
	expect(t, events, watch.Added, j.ID())
}

// TestWatchDiscarded speaks of no journey that is not to be recorded.
func TestWatchDiscarded(t *testing.T) {
	r := trace.NewRecorder("p", trace.DefaultLimits)
	server := newServer(t, r)
	_, body := get(t, server.URL+root)
	discarded := travel(r, "get", "a", 0)
	discarded.Discard()
	discarded.Finish(trace.Response{Code: 200})
	j := travel(r, "get", "b", 200)
	events := follow(t, server.URL+root+"?watch=true&resourceVersion="+fmt.Sprint(versionOf(t, body)))
	expect(t, events, watch.Added, j.ID())
}

// TestWatchGoesOn has a client list, something happen, and the client watch from its list on: it hears of exactly what
// changes in what it has.
func TestWatchGoesOn(t *testing.T) {
	limits := trace.DefaultLimits
	limits.Journeys = 3
	for query, events := range map[string][]string{
		"": {"DELETED a", "MODIFIED b", "ADDED c", "ADDED d", "ADDED e"},
		// What does not match any more is gone; what never did is not spoken of.
		"&filter=phase:running": {"DELETED b", "ADDED e"},
		"&filter=name:a,e":      {"DELETED a", "ADDED e"},
		// The steps of what is forgotten are, too: whether they matched is not known.
		"&filter=why:%22of+a%22|name:e":                 {"DELETED a", "ADDED e"},
		"&filter=layer:store&fieldSelector=spec.name=b": {"MODIFIED b"},
	} {
		t.Run(query, func(t *testing.T) {
			r := trace.NewRecorder("p", limits)
			server := newServer(t, r)
			travel(r, "get", "a", 200)
			b := travel(r, "get", "b", 0)
			_, body := get(t, server.URL+root)
			travel(r, "get", "c", 200)
			travel(r, "get", "d", 200) // a is forgotten
			b.Finish(trace.Response{Code: 200})
			travel(r, "get", "e", 0)
			got := follow(t, server.URL+root+"?watch=true"+query+"&resourceVersion="+fmt.Sprint(versionOf(t, body)))
			for range events {
				event := <-got
				line := string(event.Type) + " " + event.Object.(*v1alpha1.Journey).Spec.Name
				if i := slices.Index(events, line); i < 0 {
					t.Errorf("%s is not one of %v", line, events)
				}
			}
		})
	}
}

// TestForeignVersions: a resourceVersion of another process, or of this one before it was started again, is not taken for
// one of ours, neither silently nor by waiting until it comes.
func TestForeignVersions(t *testing.T) {
	limits := trace.DefaultLimits
	limits.Changes = 4
	r := trace.NewRecorder("p", limits)
	server := newServer(t, r)
	travel(r, "get", "a", 200)
	_, body := get(t, server.URL+root)
	old := versionOf(t, body)
	for i := range 4 {
		travel(r, "get", fmt.Sprint(i), 200)
	}
	_, body = get(t, server.URL+root)
	now := versionOf(t, body)
	for query, want := range map[string]int{
		fmt.Sprintf("watch=true&resourceVersion=%d", old):                            410,
		fmt.Sprintf("watch=true&resourceVersion=%d", now+1):                          410,
		"watch=true&resourceVersion=5":                                               410,
		"watch=true&resourceVersion=x":                                               400,
		fmt.Sprintf("resourceVersion=%d", now+1):                                     410,
		"resourceVersion=5":                                                          410,
		fmt.Sprintf("resourceVersion=%d&resourceVersionMatch=NotOlderThan", old):     200,
		fmt.Sprintf("resourceVersion=%d&resourceVersionMatch=Exact", now):            200,
		fmt.Sprintf("resourceVersion=%d&resourceVersionMatch=Exact", old):            410,
		"continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJ4In0":           400,
		"resourceVersionMatch=Exact&resourceVersion=0":                               422,
		fmt.Sprintf("resourceVersion=%d&resourceVersionMatch=NotOlderThan", now+100): 410,
	} {
		code, body := get(t, server.URL+root+"?"+query)
		if code != want || want == 410 && !strings.Contains(body, `"reason":"Expired"`) {
			t.Errorf("%s: %d %s, want %d", query, code, body, want)
		}
	}
}

// TestFromNow: who wants no initial events and names no version hears of what comes.
func TestFromNow(t *testing.T) {
	r := trace.NewRecorder("p", trace.DefaultLimits)
	travel(r, "get", "before", 200)
	rest := newJourneys(parser{r, trace.Names}, nil, nil).resource().storage().(watcher)
	no := false
	w, err := rest.Watch(t.Context(), &metainternalversion.ListOptions{SendInitialEvents: &no})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	j := travel(r, "get", "after", 200)
	expect(t, w.ResultChan(), watch.Added, j.ID())
}

// TestBookmarks: a client that takes them learns how far it is, also if nothing matches.
func TestBookmarks(t *testing.T) {
	r := trace.NewRecorder("p", trace.DefaultLimits)
	journeys := newJourneys(parser{r, trace.Names}, nil, nil)
	ctx, err := journeys.readQuery(t.Context(), url.Values{"filter": {"name:nothing"}})
	if err != nil {
		t.Fatal(err)
	}
	f := newFollower(r, journeys.selection(ctx, &metainternalversion.ListOptions{AllowWatchBookmarks: true}))
	travel(r, "get", "a", 200)
	if !f.sendNew(ctx) || len(f.events) != 0 {
		t.Fatalf("%d events", len(f.events))
	}
	f.told = time.Now().Add(-2 * bookmarkEvery)
	travel(r, "get", "b", 200)
	if !f.sendNew(ctx) {
		t.Fatal("the watch ended")
	}
	if b := expect(t, f.events, watch.Bookmark, ""); b.ResourceVersion != journeys.text(4) {
		t.Errorf("the bookmark is at %s, want %s", b.ResourceVersion, journeys.text(4))
	}
}

// TestFlood has more happen at once than a follower is sent: it is told how much it misses.
func TestFlood(t *testing.T) {
	r := trace.NewRecorder("p", trace.DefaultLimits)
	f := newFollower(r, newJourneys(parser{r, trace.Names}, nil, nil).selection(t.Context(), &metainternalversion.ListOptions{}))
	f.events = make(chan watch.Event, 500)
	f.selection.options.AllowWatchBookmarks = true
	const flood = journeysABatch + 50
	for i := range flood {
		travel(r, "get", fmt.Sprint(i), 200)
	}
	if !f.sendNew(context.Background()) || len(f.events) != journeysABatch+1 {
		t.Fatalf("%d events", len(f.events))
	}
	for range journeysABatch {
		if e := <-f.events; e.Type != watch.Added {
			t.Fatal(e)
		}
	}
	if e := <-f.events; e.Type != watch.Bookmark || e.Object.(*v1alpha1.Journey).Annotations[sampledAnnotation] != "50" {
		t.Errorf("%v", e)
	}

	slow := trace.NewRecorder("p", trace.Limits{Journeys: 10, Bytes: 1 << 20, JourneyBytes: 1 << 10, Changes: 4})
	f = newFollower(slow, newJourneys(parser{slow, trace.Names}, nil, nil).selection(t.Context(), &metainternalversion.ListOptions{}))
	for range 5 {
		travel(slow, "get", "x", 200)
	}
	if f.sendNew(context.Background()) {
		t.Error("a follower that lost changes goes on")
	}
	if e := <-f.events; e.Type != watch.Error || e.Object.(*metav1.Status).Code != 410 {
		t.Errorf("%v", e)
	}
}
