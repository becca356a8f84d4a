package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/options"
)

// Where the answers are that the tests of the screens of etcd and of the caches show.
const (
	recordedKeysFile   = "../tui/etcd/testdata/answers.json"
	recordedCachesFile = "../tui/cache/testdata/answers.json"
)

// varying is what of a path may be another in each run.
var varying = regexp.MustCompile(`(revision|resourceVersion|continue)=[^&]+`)

// recordedAnswer is what a server answered to a GET.
type recordedAnswer struct {
	Path string          `json:"path"`
	Code int             `json:"code"`
	Body json.RawMessage `json:"body,omitempty"`
	// Stream are the events of a watch.
	Stream []json.RawMessage `json:"stream,omitempty"`
}

// answers asks the same as the screens do, and keeps the answers.
type answers struct {
	*running
	t   *testing.T
	all []recordedAnswer
}

func (a *answers) get(path string, query url.Values) []byte {
	a.t.Helper()
	return a.getAs("application/json", path, query)
}

func (a *answers) getAs(mediaType, path string, query url.Values) []byte {
	a.t.Helper()
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	res, body := ask(a.t, a.httpClient(a.t), "GET", a.URL+path, nil, "Accept: "+mediaType)
	a.all = append(a.all, recordedAnswer{Path: path, Code: res.StatusCode, Body: body})
	return body
}

// edit changes the last answer.
func edit[T any](a *answers, change func(*T)) {
	a.t.Helper()
	last := &a.all[len(a.all)-1]
	object := new(T)
	must(a.t, json.Unmarshal(last.Body, object))
	change(object)
	body, err := json.Marshal(object)
	must(a.t, err)
	last.Body = body
}

// watch reads as many events of a watch.
func (a *answers) watch(path string, query url.Values, events int) {
	a.t.Helper()
	query.Set("watch", "true")
	path += "?" + query.Encode()
	req, err := http.NewRequestWithContext(within(a.t), http.MethodGet, a.URL+path, nil)
	must(a.t, err)
	req.Header.Set("Accept", "application/json")
	res, err := a.httpClient(a.t).Do(req)
	must(a.t, err)
	defer res.Body.Close()
	answer := recordedAnswer{Path: path, Code: res.StatusCode}
	stream := json.NewDecoder(res.Body)
	for range events {
		var event json.RawMessage
		must(a.t, stream.Decode(&event))
		answer.Stream = append(answer.Stream, event)
	}
	a.all = append(a.all, answer)
}

// compare holds what is recorded against the answers, by their paths and codes, and by what shape says of their bodies.
// With -rewrite the answers are recorded.
func (a *answers) compare(file string, shape func(path string, body []byte) string) {
	a.t.Helper()
	if rewriting() {
		data, err := json.MarshalIndent(a.all, "", " ")
		must(a.t, err)
		must(a.t, os.WriteFile(file, append(newNormal().answers(data), '\n'), 0o644))
	}
	data, err := os.ReadFile(file)
	must(a.t, err)
	var was []recordedAnswer
	must(a.t, json.Unmarshal(data, &was))
	describe := func(all []recordedAnswer) (lines []string) {
		for _, r := range all {
			path := varying.ReplaceAllString(r.Path, "$1=X")
			lines = append(lines, fmt.Sprintf("%d %s %d events %s", r.Code, path, len(r.Stream), shape(r.Path, r.Body)))
		}
		return lines
	}
	if was, is := describe(was), describe(a.all); !slices.Equal(was, is) {
		a.t.Errorf("what is recorded\n%s\nis not what the server answers:\n%s\ngo test ./server -run %s -rewrite",
			strings.Join(was, "\n"), strings.Join(is, "\n"), a.t.Name())
	}
}

// TestRecordedKeys asks for what the screen of etcd shows, of a little that is written here.
func TestRecordedKeys(t *testing.T) {
	t.Parallel()
	r, ctx := start(t, prefilled, encryption(t, "secretbox", "key1"), func(o *options.Options) { o.Etcd.CompactionInterval = 0 }), within(t)
	client, etcd := r.admin(t), r.etcd(t)
	maps := client.CoreV1().ConfigMaps("default")
	_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named("settings"), Data: map[string]string{"color": "red", "size": "1"}}, metav1.CreateOptions{FieldManager: "ann"})
	must(t, err)
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named("gone"), Data: map[string]string{"a": "b"}}, metav1.CreateOptions{FieldManager: "ann"})
	must(t, err)
	for _, patch := range []string{`{"data":{"color":"green"}}`, `{"data":{"color":"blue","size":null},"metadata":{"labels":{"app":"web"}}}`} {
		_, err = maps.Patch(ctx, "settings", "application/merge-patch+json", []byte(patch), metav1.PatchOptions{FieldManager: "ben"})
		must(t, err)
	}
	must(t, maps.Delete(ctx, "gone", metav1.DeleteOptions{}))
	_, err = client.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: named("login"), StringData: map[string]string{"password": "hunter2"}}, metav1.CreateOptions{FieldManager: "ann"})
	must(t, err)
	for _, put := range [][2]string{
		{"/elsewhere/note", "first line\nsecond line\n"}, {"/elsewhere/bytes", "\x00\x01\xfe\xff and text"},
		{"/registry/configmaps/default/broken", "no object at all"}, {"/elsewhere/note", "first line\nanother line\n"},
	} {
		_, err = etcd.Put(ctx, put[0], put[1])
		must(t, err)
	}
	a := &answers{running: r, t: t}
	settings := r.keyHistory(t, "/registry/configmaps/default/settings").Revisions
	for _, at := range []int64{0, settings[1].Revision} {
		for _, prefix := range []string{"", "/registry/", "/registry/configmaps/", "/registry/configmaps/default/", "/registry/secrets/", "/registry/secrets/default/", "/elsewhere/", "/nothing/"} {
			query := url.Values{"limit": {"500"}, "prefix": {prefix}}
			if at > 0 {
				query.Set("revision", fmt.Sprint(at))
			}
			a.get(keysPath, query)
		}
	}
	// A directory in pages.
	query := url.Values{"limit": {"1"}, "prefix": {"/registry/configmaps/default/"}}
	var page v1alpha1.KeyList
	must(t, json.Unmarshal(a.get(keysPath, query), &page))
	query.Set("continue", page.Continue)
	a.get(keysPath, query)
	for _, key := range []string{
		"/registry/configmaps/default/settings", "/registry/configmaps/default/gone", "/registry/configmaps/default/broken",
		"/registry/secrets/default/login", "/elsewhere/note", "/elsewhere/bytes", "/none",
	} {
		var h v1alpha1.KeyHistory
		if body := a.get(keyPath(key)+"/history", nil); a.all[len(a.all)-1].Code == http.StatusOK {
			must(t, json.Unmarshal(body, &h))
			edit(a, func(h *v1alpha1.KeyHistory) {
				for _, r := range h.Status.Revisions { // the latest comes first, and that may be another when a second ends meanwhile
					slices.SortFunc(r.Authors, func(x, y v1alpha1.KeyAuthor) int { return strings.Compare(x.Manager, y.Manager) })
				}
			})
		}
		for _, revision := range h.Status.Revisions {
			if revision.Operation != "delete" {
				a.get(keyPath(key), url.Values{"revision": {fmt.Sprint(revision.Revision)}})
			}
		}
	}
	a.compare(recordedKeysFile, keysShape)
}

// keysShape is what of an answer is the same in each run.
func keysShape(path string, body []byte) string {
	var list v1alpha1.KeyList
	var h v1alpha1.KeyHistory
	var k v1alpha1.Key
	switch {
	case json.Unmarshal(body, &list) == nil && list.Kind == "KeyList":
		return keyNames(list)
	case json.Unmarshal(body, &h) == nil && h.Kind == "KeyHistory":
		out := ""
		for _, r := range h.Status.Revisions {
			out += fmt.Sprintf("%s %d %t %d; ", r.Operation, r.Version, r.Journey != "", len(r.Authors))
		}
		return out
	case json.Unmarshal(body, &k) == nil && k.Status.Value != nil:
		v := k.Status.Value
		return fmt.Sprintf("%s %s %t %t %q", v.Format, v.Encryption, v.Masked, v.Object != nil, v.Error)
	}
	return ""
}

// TestRecordedCaches asks for what the screen of the caches shows, with a few watches.
func TestRecordedCaches(t *testing.T) {
	t.Parallel()
	// The server that is asked began with what another had written, so its caches' history does not begin with etcd's.
	dir, ctx := in(t.TempDir()), within(t)
	earlier, stop, err := launch(dir)
	must(t, err)
	for _, name := range []string{"a", "b", "c"} {
		_, err = earlier.admin(t).CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: named(name)}, metav1.CreateOptions{})
		must(t, err)
	}
	must(t, stop())
	// These are enough for a screen, and stay the same when others are served.
	r := start(t, prefilled, dir, func(o *options.Options) {
		o.RuntimeConfig = map[string]string{"api/all": "false", "apps/v1/deployments": "true", "apps/v1/replicasets": "true"}
		for _, resource := range []string{"configmaps", "events", "namespaces", "pods", "secrets", "serviceaccounts", "services"} {
			o.RuntimeConfig["v1/"+resource] = "true"
		}
	})
	maps := r.admin(t).CoreV1().ConfigMaps("default")
	for _, name := range []string{"configmaps", "namespaces", "secrets"} {
		until(t, "the cache is filled", func() bool { return r.cache(t, name).Status.State == v1alpha1.CacheFresh })
	}
	after := r.cache(t, "configmaps").Status.History.After
	for _, options := range []metav1.ListOptions{{}, {LabelSelector: "app=web"}, {FieldSelector: "metadata.name=settings", AllowWatchBookmarks: true, SendInitialEvents: new(true), ResourceVersionMatch: "NotOlderThan"}} {
		watcher, err := maps.Watch(ctx, options)
		must(t, err)
		defer watcher.Stop()
	}
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named("settings"), Data: map[string]string{"color": "red"}}, metav1.CreateOptions{})
	must(t, err)
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named("other")}, metav1.CreateOptions{})
	must(t, err)
	must(t, maps.Delete(ctx, "other", metav1.DeleteOptions{}))
	_, err = r.admin(t).CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: named("login"), StringData: map[string]string{"password": "hunter2"}}, metav1.CreateOptions{})
	must(t, err)
	// From here on the caches have the bytes of these in both forms, whether or not they took them from the writes.
	for _, path := range []string{"secrets/login", "configmaps/settings"} {
		for _, form := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
			ask(t, r.httpClient(t), "GET", r.URL+"/api/v1/namespaces/default/"+path+"?resourceVersion=0", nil, "Accept: "+form)
		}
	}
	until(t, "the watches were told", func() bool {
		sent := int64(0)
		for _, w := range r.cache(t, "configmaps").Status.Watchers {
			sent += w.Sent
		}
		return sent == 3+3+1
	})
	a := &answers{running: r, t: t}
	a.getAs("application/json;as=Table;v=v1;g=meta.k8s.io", cachesPath, nil)
	edit(a, steady)
	for _, name := range []string{"configmaps", "secrets", "deployments.apps", "none"} {
		a.get(cachesPath+"/"+name, nil)
	}
	a.get(cachesPath+"/configmaps/check", nil)
	a.get(cachesPath+"/configmaps/object", url.Values{"namespace": {"default"}, "name": {"settings"}})
	a.get(cachesPath+"/configmaps/object", url.Values{"namespace": {"default"}, "name": {"none"}})
	a.get(cachesPath+"/secrets/object", url.Values{"namespace": {"default"}, "name": {"login"}})
	a.get("/apis/apps", nil)
	a.get("/apis/apps/v1", nil)
	a.watch(recordedPath, url.Values{"allowWatchBookmarks": {"true"}, "resourceVersion": {fmt.Sprint(after)}}, 3)
	a.watch(recordedPath, url.Values{"allowWatchBookmarks": {"true"}, "sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"}}, 5)
	// The past that neither the cache nor etcd has.
	_, err = r.etcd(t).Compact(ctx, after+1)
	must(t, err)
	a.watch(recordedPath, url.Values{"allowWatchBookmarks": {"true"}, "resourceVersion": {fmt.Sprint(after - 1)}}, 1)
	slices.SortStableFunc(a.all, func(x, y recordedAnswer) int { return len(x.Stream) - len(y.Stream) })
	a.compare(recordedCachesFile, cachesShape)
}

// steady replaces what is another in each run: for how long caches are fresh, and what the server asked those of which it needs the objects
// before they were filled.
func steady(table *metav1.Table) {
	for _, row := range table.Rows {
		for i, column := range table.ColumnDefinitions {
			switch {
			case column.Name == "Since":
				row.Cells[i] = "0s"
			case row.Cells[0] != "namespaces" && row.Cells[0] != "customresourcedefinitions.apiextensions.k8s.io":
			case column.Name == "Hits" || column.Name == "Fallbacks" || column.Name == "Snapshots":
				row.Cells[i] = 1
			case column.Name == "History":
				row.Cells[i] = 0
			case column.Name == "After":
				row.Cells[i] = 8
			}
		}
	}
}

// recordedPath is what the recorded watches watch.
const recordedPath = "/api/v1/configmaps"

// cachesShape is what of an answer is the same in each run.
func cachesShape(_ string, body []byte) string {
	var table metav1.Table
	var c v1alpha1.Cache
	var check v1alpha1.CacheCheck
	var object v1alpha1.CachedObject
	out := ""
	switch {
	case json.Unmarshal(body, &table) == nil && table.Kind == "Table":
		for _, column := range table.ColumnDefinitions {
			out += column.Name + " "
		}
		for _, row := range table.Rows {
			out += fmt.Sprint(row.Cells[0]) + " "
		}
	case json.Unmarshal(body, &c) == nil && c.Kind == "Cache":
		for _, w := range c.Status.Watchers {
			out += fmt.Sprintf("%s %t %d %q %q; ", w.Key, w.Journey != "", w.Sent, w.LabelSelector, w.FieldSelector)
		}
	case json.Unmarshal(body, &check) == nil && check.Kind == "CacheCheck":
		out = fmt.Sprint(check.Status.Consistent, check.Status.Items)
	case json.Unmarshal(body, &object) == nil && object.Kind == "CachedObject":
		out = fmt.Sprint(object.Status.Difference, object.Status.Cached != nil, object.Status.Etcd != nil)
	}
	return out
}
