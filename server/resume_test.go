package server_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/options"
)

const resumeGroup = "resume.example.com"

// resumed are the resources whose watches go on after a restart: plain, encrypted, and custom in two versions.
var resumed = []schema.GroupVersionResource{
	{Version: "v1", Resource: "configmaps"},
	{Version: "v1", Resource: "secrets"},
	{Group: resumeGroup, Version: "v1", Resource: "crontabs"},
	{Group: resumeGroup, Version: "v2", Resource: "crontabs"},
}

// resumable makes an object of one of them.
func resumable(gvr schema.GroupVersionResource, name, label string) *unstructured.Unstructured {
	kinds := map[string]string{"configmaps": "ConfigMap", "secrets": "Secret", "crontabs": "CronTab"}
	u := &unstructured.Unstructured{}
	if gvr.Resource == "crontabs" {
		u = tab(gvr.GroupVersion(), "default", name)
	}
	u.SetGroupVersionKind(gvr.GroupVersion().WithKind(kinds[gvr.Resource]))
	u.SetName(name)
	u.SetLabels(map[string]string{"l": label})
	return u
}

// crontabsOfTwoVersions are served as v1 and v2, and stored as v1.
func crontabsOfTwoVersions() *apiextensionsv1.CustomResourceDefinition {
	crd := cronTab(resumeGroup)
	second := *crd.Spec.Versions[0].DeepCopy()
	second.Name, second.Storage = "v2", false
	crd.Spec.Versions = append(crd.Spec.Versions, second)
	return crd
}

// TestWatchesGoOnAfterRestart: watches of a server that was started again go on from revisions before its start, told all that
// happened since, once and in order, and then what happens. Lists at such revisions and further pages are answered too. What
// was compacted is 410.
func TestWatchesGoOnAfterRestart(t *testing.T) {
	t.Parallel()
	edit := []func(*options.Options){in(t.TempDir()), encryption(t, "secretbox", "key1")}
	first, stop, err := launch(edit...)
	must(t, err)
	first.define(t, crontabsOfTwoVersions())
	ctx := within(t)
	froms, pages := map[string]string{}, map[string]string{}
	for _, gvr := range resumed {
		objects := first.dynamic(t).Resource(gvr).Namespace("default")
		for _, name := range []string{"a-" + gvr.Version, "b-" + gvr.Version} {
			_, err := objects.Create(ctx, resumable(gvr, name, "x"), metav1.CreateOptions{})
			must(t, err)
		}
		list, err := objects.List(ctx, metav1.ListOptions{Limit: 1})
		must(t, err)
		froms[gvr.String()], pages[gvr.String()] = list.GetResourceVersion(), list.GetContinue()
		changeAll(t, first, gvr)
	}
	must(t, stop())

	r := start(t, edit...)
	watches := map[string]watch.Interface{}
	for _, gvr := range resumed {
		objects := r.dynamic(t).Resource(gvr).Namespace("default")
		for what, options := range map[string]metav1.ListOptions{
			"all":       {AllowWatchBookmarks: true},
			"no state":  {SendInitialEvents: ptrTo(false), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
			"of label":  {LabelSelector: "l=x"},
			"of a name": {FieldSelector: "metadata.name=b-" + gvr.Version},
		} {
			options.ResourceVersion = froms[gvr.String()]
			w, err := objects.Watch(ctx, options)
			must(t, err)
			defer w.Stop()
			watches[gvr.String()+" "+what] = w
		}
		// The state at the revision of the process before, whole and from its second page on.
		for what, options := range map[string]metav1.ListOptions{
			"a-V b-V": {ResourceVersion: froms[gvr.String()], ResourceVersionMatch: metav1.ResourceVersionMatchExact},
			"b-V":     {Continue: pages[gvr.String()]},
		} {
			list, err := objects.List(ctx, options)
			must(t, err)
			want := strings.Fields(strings.ReplaceAll(what, "V", gvr.Version))
			if got := namesOf(list, gvr.Version); !slices.Equal(got, want) || list.GetResourceVersion() != froms[gvr.String()] {
				t.Errorf("%s, %s: %v at %s", gvr, what, got, list.GetResourceVersion())
			}
		}
	}
	for _, gvr := range resumed {
		_, err := r.dynamic(t).Resource(gvr).Namespace("default").Create(ctx, resumable(gvr, "live-"+gvr.Version, "x"), metav1.CreateOptions{})
		must(t, err)
	}
	want := map[string]string{
		"all":       "MODIFIED a-V, ADDED c-V, MODIFIED b-V, DELETED a-V, ADDED live-V",
		"no state":  "MODIFIED a-V, ADDED c-V, MODIFIED b-V, DELETED a-V, ADDED live-V",
		"of label":  "MODIFIED a-V, ADDED c-V, DELETED b-V, DELETED a-V, ADDED live-V",
		"of a name": "MODIFIED b-V",
	}
	for _, gvr := range resumed {
		for what, events := range want {
			wanted := strings.Split(strings.ReplaceAll(events, "V", gvr.Version), ", ")
			if got := eventsOf(t, watches[gvr.String()+" "+what], gvr.Version, len(wanted)); !slices.Equal(got, wanted) {
				t.Errorf("%s, %s:\n%v, want\n%v", gvr, what, got, wanted)
			}
		}
	}
	toldWhy(t, r, froms[resumed[0].String()])

	r.compact(t)
	maps := r.admin(t).CoreV1().ConfigMaps("default")
	old := metav1.ListOptions{ResourceVersion: "2"}
	w, err := maps.Watch(ctx, old)
	must(t, err)
	defer w.Stop()
	e := <-w.ResultChan()
	if err := apierrors.FromObject(e.Object); e.Type != watch.Error || !apierrors.IsResourceExpired(err) || !strings.HasPrefix(err.Error(), "too old resource version: 2 (") {
		t.Errorf("%s %v", e.Type, e.Object)
	}
	old.ResourceVersionMatch = metav1.ResourceVersionMatchExact
	if _, err := maps.List(ctx, old); !apierrors.IsResourceExpired(err) {
		t.Error(err)
	}
}

func ptrTo[T any](v T) *T { return &v }

// changeAll changes, creates and deletes objects, one of which is no longer selected then.
func changeAll(t *testing.T, r *running, gvr schema.GroupVersionResource) {
	t.Helper()
	ctx, objects := within(t), r.dynamic(t).Resource(gvr).Namespace("default")
	v := "-" + gvr.Version
	label := func(name, patch string) {
		_, err := objects.Patch(ctx, name+v, "application/merge-patch+json", []byte(`{"metadata":{"labels":`+patch+`}}`), metav1.PatchOptions{})
		must(t, err)
	}
	label("a", `{"m":"1"}`)
	_, err := objects.Create(ctx, resumable(gvr, "c"+v, "x"), metav1.CreateOptions{})
	must(t, err)
	label("b", `{"l":"y"}`)
	must(t, objects.Delete(ctx, "a"+v, metav1.DeleteOptions{}))
}

// namesOf are the names in a list that end with a version.
func namesOf(list *unstructured.UnstructuredList, version string) (names []string) {
	for _, item := range list.Items {
		if strings.HasSuffix(item.GetName(), "-"+version) {
			names = append(names, item.GetName())
		}
	}
	return names
}

// eventsOf are the next n events of a watch about objects whose names end with a version, in the order of their revisions.
func eventsOf(t *testing.T, w watch.Interface, version string, n int) (events []string) {
	t.Helper()
	last := ""
	for e := range w.ResultChan() {
		if e.Type == watch.Error {
			return append(events, fmt.Sprint(apierrors.FromObject(e.Object)))
		}
		m, err := meta.Accessor(e.Object)
		must(t, err)
		if e.Type == watch.Bookmark {
			continue
		}
		if len(m.GetResourceVersion()) < len(last) || len(m.GetResourceVersion()) == len(last) && m.GetResourceVersion() <= last {
			t.Errorf("%s after %s", m.GetResourceVersion(), last)
		}
		if last = m.GetResourceVersion(); strings.HasSuffix(m.GetName(), "-"+version) {
			events = append(events, string(e.Type)+" "+m.GetName())
		}
		if len(events) == n {
			break
		}
	}
	return events
}

// toldWhy checks that the journey of a watch says where its events come from.
func toldWhy(t *testing.T, r *running, from string) {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	req, err := http.NewRequestWithContext(ctx, "GET", r.URL+"/api/v1/configmaps?watch=true&resourceVersion="+from, nil)
	must(t, err)
	res, err := r.httpClient(t).Do(req)
	must(t, err)
	cancel()
	must(t, res.Body.Close())
	var why string
	until(t, "the journey is complete", func() bool {
		var j v1alpha1.Journey
		r.kx(t, "GET", "journeys/"+res.Header.Get("Kx-Journey"), nil, 200, &j)
		for _, step := range j.Status.Steps {
			if step.ID == "cacher.watch" {
				why = step.Why
			}
		}
		return why != ""
	})
	if want := "revision " + from + " is before the cache's first, "; !strings.HasPrefix(why, want) || !strings.HasSuffix(why, " are read from etcd's history") {
		t.Error(why)
	}
}

// TestInformersGoOnAfterRestart has client-go's informers follow a server that is started again, and miss what another one
// wrote meanwhile: none of them lists again.
func TestInformersGoOnAfterRestart(t *testing.T) {
	t.Parallel()
	edit := []func(*options.Options){in(t.TempDir()), encryption(t, "secretbox", "key1")}
	first, stop, err := launch(edit...)
	must(t, err)
	first.define(t, crontabsOfTwoVersions())
	var starts atomic.Int64 // of informers: LISTs, and watches that begin with the state
	config := rest.CopyConfig(first.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			q := req.URL.Query()
			if q.Get("watch") != "true" || q.Get("sendInitialEvents") == "true" || q.Get("resourceVersion") == "" || q.Get("resourceVersion") == "0" {
				starts.Add(1)
			}
			return next.RoundTrip(req)
		})
	})
	client, err := dynamic.NewForConfig(config)
	must(t, err)
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	done := make(chan struct{})
	defer factory.Shutdown()
	defer close(done)
	stores := map[string]cache.Store{}
	for _, gvr := range resumed {
		stores[gvr.String()] = factory.ForResource(gvr).Informer().GetStore()
	}
	factory.Start(done)
	factory.WaitForCacheSync(done)
	ctx := within(t)
	write := func(r *running, name string) {
		for _, gvr := range resumed {
			_, err := r.dynamic(t).Resource(gvr).Namespace("default").Create(ctx, resumable(gvr, name+"-"+gvr.Version, "x"), metav1.CreateOptions{})
			must(t, err)
		}
	}
	hold := func(name string) {
		t.Helper()
		until(t, "all informers have "+name, func() bool {
			for _, gvr := range resumed {
				if _, ok, _ := stores[gvr.String()].GetByKey("default/" + name + "-" + gvr.Version); !ok {
					return false
				}
			}
			return true
		})
	}
	write(first, "before")
	hold("before")
	began := starts.Load()
	at := strings.TrimPrefix(first.URL, "https://")
	must(t, stop())

	elsewhere, stop, err := launch(edit...) // nobody's informer knows its address
	must(t, err)
	write(elsewhere, "missed")
	must(t, stop())
	again := start(t, append(edit, func(o *options.Options) { o.Listen = at })...)
	hold("missed")
	write(again, "after")
	hold("after")
	if n := starts.Load() - began; n != 0 {
		t.Errorf("informers began anew %d times", n)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
