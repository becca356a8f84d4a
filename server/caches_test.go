package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/options"
)

const cachesPath = "/apis/kx.dev/v1alpha1/caches"

// read gets a path into an object, and returns the status code.
func (r *running) read(t testing.TB, path string, into any) int {
	t.Helper()
	res, body := ask(t, r.httpClient(t), "GET", r.URL+path, nil)
	if res.StatusCode == http.StatusOK {
		if err := json.Unmarshal(body, into); err != nil {
			t.Fatalf("%s: %v: %s", path, err, body)
		}
	}
	return res.StatusCode
}

func (r *running) cache(t testing.TB, name string) *v1alpha1.Cache {
	t.Helper()
	c := &v1alpha1.Cache{}
	if code := r.read(t, cachesPath+"/"+name, c); code != http.StatusOK {
		t.Fatalf("the cache of %s: %d", name, code)
	}
	return c
}

func (r *running) caches(t testing.TB, query string) map[string]v1alpha1.Cache {
	t.Helper()
	var list v1alpha1.CacheList
	if code := r.read(t, cachesPath+query, &list); code != http.StatusOK {
		t.Fatalf("caches%s: %d", query, code)
	}
	if !slices.IsSortedFunc(list.Items, func(a, b v1alpha1.Cache) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("caches%s are not in the order of their names", query)
	}
	caches := map[string]v1alpha1.Cache{}
	for _, c := range list.Items {
		caches[c.Name] = c
	}
	return caches
}

// TestCaches reads what a cache is like before and after it is used.
func TestCaches(t *testing.T) {
	t.Parallel()
	r, ctx := start(t, prefilled), within(t)
	maps := r.admin(t).CoreV1().ConfigMaps("default")
	var before *v1alpha1.Cache
	until(t, "the cache is fresh", func() bool {
		before = r.cache(t, "configmaps")
		return before.Status.State == v1alpha1.CacheFresh
	})
	if s := before.Status; s.Lag != 0 || s.CaughtUpMicros == nil || s.Revision == 0 || s.Since.IsZero() {
		t.Errorf("at first: %+v", s)
	}
	watcher, err := maps.Watch(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	must(t, err)
	made, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"app": "web"}}}, metav1.CreateOptions{})
	must(t, err)
	if e := <-watcher.ResultChan(); e.Type != watch.Added {
		t.Fatalf("%+v", e)
	}
	_, err = maps.Get(ctx, "a", metav1.GetOptions{ResourceVersion: "0"})
	must(t, err)
	revision, err := strconv.ParseInt(made.ResourceVersion, 10, 64)
	must(t, err)

	var c *v1alpha1.Cache
	var i int
	until(t, "the watch is seen where the cache is", func() bool {
		c = r.cache(t, "configmaps")
		i = slices.IndexFunc(c.Status.Watchers, func(w v1alpha1.CacheWatcher) bool { return w.LabelSelector == "app=web" })
		return i >= 0 && c.Status.Watchers[i].Sent > 0 && c.Status.Watchers[i].At == c.Status.Revision
	})
	s := c.Status
	if s.Items != before.Status.Items+1 || s.Bytes <= before.Status.Bytes || s.History.Events == 0 || s.History.Oldest == nil || s.Hits < before.Status.Hits+2 ||
		s.Revision < revision || s.Fallbacks != before.Status.Fallbacks || c.Spec.Resource != "configmaps" || s.Watches != int64(len(s.Watchers)) {
		t.Errorf("before %+v\nafter %+v", before.Status, s)
	}
	if w := s.Watchers[i]; w.User != "kx-admin" || w.Key != "/configmaps/default/" || w.Since.IsZero() || w.Queued != 0 || w.Behind ||
		w.Sent != 1 || w.Lag != 0 || w.Buffer == 0 || w.From == 0 || w.From >= revision ||
		w.Journey == "" || w.UserAgent == "" || w.LastBookmark != 0 || w.LastBookmarkTime != nil {
		t.Errorf("%+v", w)
	}
	if h := s.History; h.MostEvents < h.LeastEvents || h.LeastEvents == 0 || h.MostBytes == 0 || h.WindowSeconds == 0 {
		t.Errorf("%+v", h)
	}
	watcher.Stop()
	until(t, "a watch that ended is gone", func() bool { return r.cache(t, "configmaps").Status.Watches == s.Watches-1 })

	var all map[string]v1alpha1.Cache
	until(t, "all caches are fresh, and a list of them has no watchers", func() bool {
		all = r.caches(t, "")
		return !slices.ContainsFunc([]string{"configmaps", "deployments.apps", "customresourcedefinitions.apiextensions.k8s.io", "namespaces"},
			func(name string) bool {
				return all[name].Status.State != v1alpha1.CacheFresh || len(all[name].Status.Watchers) > 0
			})
	})
	until(t, "the server itself watches namespaces", func() bool { return r.cache(t, "namespaces").Status.Watches > 0 })
	if _, ok := all["events"]; ok {
		t.Error("events have a cache")
	}
	for query, want := range map[string]int{
		"?fieldSelector=spec.group=apps,spec.resource=deployments": 1, "?fieldSelector=metadata.name=configmaps": 1,
		"?fieldSelector=status.state!=Fresh": 0, "?labelSelector=a": 0, "?limit=1&resourceVersion=0": len(all),
	} {
		if got := len(r.caches(t, query)); got != want {
			t.Errorf("%s: %d caches, want %d", query, got, want)
		}
	}
}

// TestCachesAnswers asks what is not to be had, and who may ask.
func TestCachesAnswers(t *testing.T) {
	t.Parallel()
	r := start(t, prefilled, tokens(t, "t-ann,ann,2\n"))
	var status metav1.Status
	for path, want := range map[string]int{
		"?watch=true":                            405,
		"?resourceVersion=5":                     400,
		"?fieldSelector=status.items=1":          400,
		"/nothing":                               404,
		"/nothing.example.com/check":             404,
		"/configmaps/object":                     400,
		"/configmaps/object?name=none":           404,
		"/configmaps/object?name=a&namespace=..": 400,
		"/configmaps/object?name=a%2Fb":          400,
	} {
		res, body := ask(t, r.httpClient(t), "GET", r.URL+cachesPath+path, nil)
		if err := json.Unmarshal(body, &status); err != nil || res.StatusCode != want {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
	}
	for _, path := range []string{"", "/configmaps", "/configmaps/check", "/configmaps/object?name=a"} {
		if _, err := r.as(t, "t-ann").CoreV1().RESTClient().Get().RequestURI(cachesPath + path).DoRaw(within(t)); !apierrors.IsForbidden(err) {
			t.Errorf("%s for somebody: %v", path, err)
		}
	}
	list, err := r.admin(t).Discovery().ServerResourcesForGroupVersion("kx.dev/v1alpha1")
	must(t, err)
	var got []string
	for _, resource := range list.APIResources {
		if !strings.HasPrefix(resource.Name, "caches") {
			continue
		}
		got = append(got, fmt.Sprintln(resource.Name, resource.Kind, resource.ShortNames, resource.Verbs))
	}
	want := `caches Cache [wc] [get list]
caches/check CacheCheck [] [get]
caches/object CachedObject [] [get]
`
	if strings.Join(got, "") != want {
		t.Errorf("discovered %s, want %s", got, want)
	}
	until(t, "the cache is fresh", func() bool { return r.cache(t, "namespaces").Status.State == v1alpha1.CacheFresh })
	_, table := ask(t, r.httpClient(t), "GET", r.URL+cachesPath+"/namespaces", nil, "Accept: application/json;as=Table;v=v1;g=meta.k8s.io")
	var rows metav1.Table
	if err := json.Unmarshal(table, &rows); err != nil || len(rows.Rows) != 1 || fmt.Sprint(rows.Rows[0].Cells[:2]) != "[namespaces Fresh]" {
		t.Errorf("%s", table)
	}
}

// TestNoCaches: without caches there are none to be shown.
func TestNoCaches(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *options.Options) { o.WatchCache.Enabled = false })
	if got := r.caches(t, ""); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// TestCheckAndObject holds caches against etcd, with objects in all forms in which they are stored.
func TestCheckAndObject(t *testing.T) {
	t.Parallel()
	r, ctx := start(t, prefilled), within(t)
	client := r.admin(t)
	_, err := client.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: named("s"), StringData: map[string]string{"a": "hunter2"}}, metav1.CreateOptions{})
	must(t, err)
	_, err = client.AppsV1().Deployments("default").Create(ctx, deployment("web"), metav1.CreateOptions{})
	must(t, err)
	for name, path := range map[string]string{
		"secrets":          "?namespace=default&name=s",
		"deployments.apps": "?namespace=default&name=web",
		"namespaces":       "?name=default",
	} {
		var check v1alpha1.CacheCheck
		if code := r.read(t, cachesPath+"/"+name+"/check", &check); code != 200 || !check.Status.Consistent || check.Status.Items == 0 || check.Status.Revision == 0 {
			t.Errorf("%s: %d %+v", name, code, check.Status)
		}
		if check.Name != name || check.Kind != "CacheCheck" {
			t.Errorf("%+v", check)
		}
		var obj v1alpha1.CachedObject
		if code := r.read(t, cachesPath+"/"+name+"/object"+path, &obj); code != 200 {
			t.Fatalf("%s: %d", name, code)
		}
		s := obj.Status
		if s.Difference != "" || s.Cached == nil || s.Etcd == nil || s.Cached.Revision != s.Etcd.Revision || s.Cached.Bytes == 0 {
			t.Errorf("%s: %+v", name, s)
		}
		var cached, stored metav1.PartialObjectMetadata
		must(t, json.Unmarshal(s.Cached.Object.Raw, &cached))
		must(t, json.Unmarshal(s.Etcd.Object.Raw, &stored))
		if masked := strings.Contains(string(s.Cached.Object.Raw), `"masked, 7 bytes"`); masked != (name == "secrets") {
			t.Errorf("%s: %s", name, s.Cached.Object.Raw)
		}
		if cached.Kind == "" || cached.Name != obj.Name || cached.ResourceVersion != fmt.Sprint(s.Cached.Revision) || !bytes.Equal(s.Cached.Object.Raw, s.Etcd.Object.Raw) {
			t.Errorf("%s: %s\nbeside %s", name, s.Cached.Object.Raw, s.Etcd.Object.Raw)
		}
	}
}

// TestCachesOfCustomResources: the cache of a custom resource comes with its first request, outlives a change of its
// definition, and goes with it.
func TestCachesOfCustomResources(t *testing.T) {
	t.Parallel()
	r, ctx := start(t, prefilled), within(t)
	const group, name = "caches.example.com", "crontabs.caches.example.com"
	gv := schema.GroupVersion{Group: group, Version: "v1"}
	r.define(t, cronTab(group))
	tabs := r.dynamic(t).Resource(gv.WithResource("crontabs")).Namespace("default")
	_, err := tabs.Create(ctx, tab(gv, "default", "a"), metav1.CreateOptions{})
	must(t, err)
	if c := r.cache(t, name); c.Status.Items != 1 || c.Spec.Group != group {
		t.Errorf("%+v", c)
	}
	var check v1alpha1.CacheCheck
	if r.read(t, cachesPath+"/"+name+"/check", &check); !check.Status.Consistent || check.Status.Items != 1 {
		t.Errorf("%+v", check.Status)
	}
	var obj v1alpha1.CachedObject
	if r.read(t, cachesPath+"/"+name+"/object?namespace=default&name=a", &obj); obj.Status.Cached == nil || !strings.Contains(string(obj.Status.Cached.Object.Raw), `"kind":"CronTab"`) {
		t.Errorf("%+v", obj.Status)
	}

	edited, err := r.definitions(t).Get(ctx, "crontabs."+group, metav1.GetOptions{})
	must(t, err)
	edited.Spec.Versions[0].AdditionalPrinterColumns = nil
	_, err = r.definitions(t).Update(ctx, edited, metav1.UpdateOptions{})
	must(t, err)
	until(t, "the cache is a new one, filled", func() bool {
		_, err := tabs.List(ctx, metav1.ListOptions{})
		must(t, err)
		var c v1alpha1.Cache
		return r.read(t, cachesPath+"/"+name, &c) == 200 && c.Status.State == v1alpha1.CacheFresh && c.Status.Items == 1
	})
	r.undefine(t, "crontabs."+group)
	until(t, "the cache is gone", func() bool {
		_, there := r.caches(t, "")[name]
		return !there
	})
}

// TestQuietCaches: a cache of whose resource nothing changes is told nothing by etcd, and lacks nothing.
func TestQuietCaches(t *testing.T) {
	t.Parallel()
	r := start(t)
	const maps = "/api/v1/namespaces/default/configmaps"
	// Both caches are filled, and then somebody writes what is no Secret.
	r.awaitCache(t, "secrets")
	r.awaitCache(t, "configmaps")
	res, body := ask(t, r.httpClient(t), "POST", r.URL+maps, strings.NewReader(`{"metadata":{"name":"news"}}`), "Content-Type: application/json")
	var created corev1.ConfigMap
	if err := json.Unmarshal(body, &created); err != nil || res.StatusCode != http.StatusCreated {
		t.Fatalf("%s: %s", res.Status, body)
	}
	now, err := strconv.ParseInt(created.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	// A read of a single key tells the cache how far etcd is, and does not wait for it. Then longer than a cache may be behind.
	began := time.Now()
	until(t, "the cache of secrets knows of the news", func() bool {
		if code := r.read(t, "/api/v1/namespaces/default/secrets/nobody", nil); code != http.StatusNotFound {
			t.Fatal(code)
		}
		c := r.caches(t, "")["secrets"]
		return time.Since(began) > 1500*time.Millisecond && c.Status.State == v1alpha1.CacheFresh && c.Status.Revision >= now
	})
}

// awaitCache reads a resource until its cache is filled.
func (r *running) awaitCache(t *testing.T, resource string) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); r.caches(t, "")[resource].Status.State != v1alpha1.CacheFresh; {
		if res, body := ask(t, r.httpClient(t), "GET", r.URL+"/api/v1/"+resource, nil); res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", resource, body)
		}
		if time.Now().After(deadline) {
			t.Fatalf("the cache of %s is not filled", resource)
		}
	}
}
