package customresource_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
)

// watcher reads the events of a watch.
type watcher struct {
	t       testing.TB
	scanner *bufio.Scanner
}

func (s *testServer) watch(t testing.TB, path string) *watcher {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", s.URL+path, nil)
	must(t, err)
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != 200 {
		t.Fatalf("watch %s: %d", path, res.StatusCode)
	}
	return &watcher{t, bufio.NewScanner(res.Body)}
}

// next is "TYPE name apiVersion length rv-is-set", or "" at the end.
func (w *watcher) next() (event map[string]any, summary string) {
	w.t.Helper()
	if !w.scanner.Scan() {
		return nil, ""
	}
	must(w.t, json.Unmarshal(w.scanner.Bytes(), &event))
	obj := unstructured.Unstructured{Object: event["object"].(map[string]any)}
	length, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "length")
	return event, fmt.Sprintf("%s %s %s %v", event["type"], strings.TrimPrefix(obj.GetAPIVersion(), "stable.example.com/"), obj.GetName(), length)
}

func (w *watcher) want(summaries ...string) {
	w.t.Helper()
	for _, want := range summaries {
		if event, got := w.next(); got != want {
			w.t.Fatalf("want %q, got %q: %v", want, got, event)
		}
	}
}

func TestWatchOfAConvertedVersion(t *testing.T) { eachStorage(t, testWatchOfAConvertedVersion) }

func testWatchOfAConvertedVersion(t *testing.T) {
	s, hook := withWebhook(t)
	for i := range 5 {
		s.send(t, "POST", path("v1", ""), crontab("v1", fmt.Sprintf("n%d", i), fmt.Sprintf(`{"size":%d}`, i))).want(t, 201)
	}
	const merge = "application/merge-patch+json"
	all := s.watch(t, path("v2", "?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"))
	all.want("ADDED v2 n0 0", "ADDED v2 n1 1", "ADDED v2 n2 2", "ADDED v2 n3 3", "ADDED v2 n4 4", "BOOKMARK v2  <nil>")
	sent := 0
	for _, call := range hook.Calls() {
		sent += call.Objects
	}
	if sent != 5 {
		t.Errorf("%d objects were converted for 5 events", sent)
	}
	s.send(t, "PATCH", path("v1", "/n1"), `{"spec":{"size":11}}`, "Content-Type", merge).want(t, 200)
	s.send(t, "DELETE", path("v1", "/n2"), "").want(t, 200)
	all.want("MODIFIED v2 n1 11", "DELETED v2 n2 2")
}

func TestWatchBySelectorsOfAConvertedVersion(t *testing.T) {
	eachStorage(t, testWatchBySelectorsOfAConvertedVersion)
}

func testWatchBySelectorsOfAConvertedVersion(t *testing.T) {
	s, _ := withWebhook(t)
	size := func(name string, size int) string {
		return s.send(t, "PATCH", path("v1", "/"+name), fmt.Sprintf(`{"spec":{"size":%d}}`, size), "Content-Type", "application/merge-patch+json").
			want(t, 200).at(t, "metadata", "resourceVersion").(string)
	}
	s.send(t, "POST", path("v1", ""), crontab("v1", "a", `{"size":1}`)).want(t, 201)
	s.send(t, "POST", path("v1", ""), crontab("v1", "b", `{"size":2}`)).want(t, 201)
	start := size("b", 3)
	selector := "&fieldSelector=" + url.QueryEscape("spec.length=1")
	// One sees the state first and knows all objects; the other begins at a revision and knows none.
	fromState := s.watch(t, path("v2", "?watch=1"+selector))
	fromRevision := s.watch(t, path("v2", "?watch=1&resourceVersion="+start+selector))
	fromState.want("ADDED v2 a 1")
	size("b", 1)
	left := size("a", 5)
	size("a", 6)
	size("a", 1)
	s.send(t, "PATCH", path("v1", "/a"), `{"metadata":{"labels":{"x":"y"}}}`, "Content-Type", "application/merge-patch+json").want(t, 200)
	s.send(t, "POST", path("v1", ""), crontab("v1", "c", `{"size":1}`)).want(t, 201)
	s.send(t, "POST", path("v1", ""), crontab("v1", "d", `{"size":2}`)).want(t, 201)
	s.send(t, "DELETE", path("v1", "/d"), "").want(t, 200)
	s.send(t, "DELETE", path("v1", "/c"), "").want(t, 200)
	for _, w := range []*watcher{fromState, fromRevision} {
		w.want("ADDED v2 b 1")
		// It goes as it was while it was selected, at the revision at which it went.
		event, got := w.next()
		if got != "DELETED v2 a 1" {
			t.Fatalf("got %q: %v", got, event)
		}
		if rv := event["object"].(map[string]any)["metadata"].(map[string]any)["resourceVersion"]; rv != left {
			t.Errorf("it went at %s, not %s", left, rv)
		}
		w.want("ADDED v2 a 1", "MODIFIED v2 a 1", "ADDED v2 c 1", "DELETED v2 c 1")
	}
	named := s.watch(t, path("v2", "?watch=1&fieldSelector="+url.QueryEscape("metadata.name=a,spec.length=1")))
	named.want("ADDED v2 a 1")
	size("a", 2)
	named.want("DELETED v2 a 1")
}

// TestWatchesEnd stops a converted watch in each of the ways that it can end. What it started must be gone then.
func TestWatchesEnd(t *testing.T) {
	for how, end := range map[string]func(s *testServer, w watch.Interface, cancel func()){
		"stop":    func(_ *testServer, w watch.Interface, _ func()) { w.Stop() },
		"context": func(_ *testServer, _ watch.Interface, cancel func()) { cancel() },
		"destroy": func(s *testServer, _ watch.Interface, _ func()) { s.resource.Destroy() },
	} {
		s, _ := withWebhook(t)
		s.send(t, "POST", path("v1", ""), crontab("v1", "a", `{"size":1}`)).want(t, 201)
		s.send(t, "GET", path("v2", "/a"), "").want(t, 200) // so that all connections are there
		running := goleak.IgnoreCurrent()
		ctx, cancel := context.WithCancel(t.Context())
		w, err := s.resource.Versions["v2"].Storage.CustomResource.Watch(ctx, &metainternalversion.ListOptions{LabelSelector: labels.Set{"in": "v2"}.AsSelector()})
		must(t, err)
		if event := <-w.ResultChan(); event.Type != watch.Added {
			t.Errorf("%s: got %v", how, event)
		}
		end(s, w, cancel)
		for event := range w.ResultChan() {
			if event.Type != watch.Error {
				t.Errorf("%s: and then %v", how, event)
			}
		}
		cancel()
		w.Stop()
		s.resource.Destroy()
		goleak.VerifyNone(t, running)
	}
}
