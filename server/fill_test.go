package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/filter"
	"github.com/kx-apiserver/kx/server/options"
)

// stored is how many objects there are when a server starts again.
const stored = 5_000

// prefilled has a server fill its caches before anybody asks for them.
func prefilled(o *options.Options) { o.WatchCache.Prefill = true }

// TestRestart starts a server with --watch-cache-prefill over many objects, built-in and custom: from the first moment on
// lists are answered, whole, and never with 429; and once it says that it is ready, they come from caches that are filled.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gv := schema.GroupVersion{Group: "restart.example.com", Version: "v1"}
	const tabs = "crontabs.restart.example.com"
	first, stop, err := launch(in(dir))
	must(t, err)
	first.define(t, cronTab(gv.Group))
	fillWith(t, first, gv)
	must(t, stop())

	r := start(t, in(dir), prefilled)
	client := r.httpClient(t)
	lists := map[string]string{"configmaps": "/api/v1/configmaps", tabs: "/apis/restart.example.com/v1/crontabs"}
	for ready := false; !ready; {
		res, _ := ask(t, client, "GET", r.URL+"/readyz", nil)
		ready = res.StatusCode == http.StatusOK
		for name, path := range lists {
			for _, query := range []string{"", "?resourceVersion=0", "?limit=500"} {
				res, body := ask(t, client, "GET", r.URL+path+query, nil)
				want := stored / 2
				if strings.Contains(query, "limit") {
					want = 500
				}
				if got := strings.Count(string(body), `"uid":`); res.StatusCode != http.StatusOK || got < want {
					t.Fatalf("%s%s, ready %v: %s, %d objects", name, query, ready, res.Status, got)
				}
			}
		}
	}
	for name := range lists {
		// All that was asked is asked again: etcd is not needed for it any more.
		before := r.cache(t, name).Status
		if before.State != v1alpha1.CacheFresh || before.Items < stored/2 {
			t.Errorf("%s is ready with %+v", name, before)
		}
		for _, query := range []string{"", "?resourceVersion=0", "?limit=500"} {
			ask(t, client, "GET", r.URL+lists[name]+query, nil)
		}
		if after := r.cache(t, name).Status; after.Fallbacks != before.Fallbacks || after.Hits < before.Hits+3 {
			t.Errorf("%s: before %+v\nafter %+v", name, before, after)
		}
	}
	if _, body := ask(t, client, "GET", r.URL+"/readyz?verbose", nil); !strings.Contains(string(body), "[+]poststarthook/storage-readiness ok\n") {
		t.Errorf("%s", body)
	}
}

// fillWith creates many objects, half of them of a custom resource: one of each as clients do, and copies of what became of
// them in etcd.
func fillWith(t *testing.T, r *running, gv schema.GroupVersion) {
	t.Helper()
	ctx, etcd := within(t), r.etcd(t)
	const first = "o-0000"
	_, err := r.dynamic(t).Resource(gv.WithResource("crontabs")).Namespace("default").Create(ctx, tab(gv, "default", first), metav1.CreateOptions{})
	must(t, err)
	_, err = r.admin(t).CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: named(first)}, metav1.CreateOptions{})
	must(t, err)
	for _, prefix := range []string{"/registry/configmaps/default/", "/registry/" + gv.Group + "/crontabs/default/"} {
		found, err := etcd.Get(ctx, prefix+first)
		must(t, err)
		value := string(found.Kvs[0].Value)
		var puts []clientv3.Op
		for i := 1; i < stored/2; i++ {
			name := fmt.Sprintf("o-%04d", i)
			puts = append(puts, clientv3.OpPut(prefix+name, strings.ReplaceAll(value, first, name)))
			if len(puts) == 100 || i == stored/2-1 {
				_, err := etcd.Txn(ctx).Then(puts...).Commit()
				must(t, err)
				puts = nil
			}
		}
	}
}

// TestFirstRead asks a server for resources that nobody has asked for. It is ready before; etcd answers the first read, and
// says in its journey that the cache begins to fill; later ones come from the cache. Writes and looks at the cache are no reads.
func TestFirstRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gv := schema.GroupVersion{Group: "first.example.com", Version: "v1"}
	first, stop, err := launch(in(dir))
	must(t, err)
	first.define(t, cronTab(gv.Group))
	must(t, stop())

	r := start(t, in(dir))
	client := r.httpClient(t)
	until(t, "it is ready", func() bool {
		res, _ := ask(t, client, "GET", r.URL+"/readyz", nil)
		return res.StatusCode == http.StatusOK
	})
	for _, tc := range []struct{ cache, path, object string }{
		{"secrets", "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"a"}}`},
		{"leases.coordination.k8s.io", "/apis/coordination.k8s.io/v1/namespaces/default/leases", `{"metadata":{"name":"a"},"spec":{}}`},
	} {
		if res, body := ask(t, client, "POST", r.URL+tc.path, strings.NewReader(tc.object), "Content-Type: application/json"); res.StatusCode != http.StatusCreated {
			t.Fatalf("%s", body)
		}
		if got := r.cache(t, tc.cache).Status; got.State != v1alpha1.CacheUninitialized || got.Error != "" || got.CaughtUpMicros != nil || got.Hits+got.Fallbacks != 0 {
			t.Errorf("%s, before anybody reads: %+v", tc.cache, got)
		}
		for _, path := range []string{tc.path, tc.path + "/a"} {
			res, body := ask(t, client, "GET", r.URL+path, nil)
			if res.StatusCode != http.StatusOK || !strings.Contains(string(body), `"name":"a"`) {
				t.Errorf("%s: %s %s", path, res.Status, body)
			}
			why := reasons(r.ended(t, res.Header.Get(filter.JourneyHeader)))
			if strings.Contains(why, "cache-first-read") != (path == tc.path) {
				t.Errorf("%s: %s", path, why)
			}
			until(t, tc.cache+" is filled", func() bool { return r.cache(t, tc.cache).Status.State == v1alpha1.CacheFresh })
		}
		if got := r.cache(t, tc.cache).Status; got.Hits != 1 || got.Fallbacks != 1 || got.Items != 1 {
			t.Errorf("%s, read twice: %+v", tc.cache, got)
		}
	}
	if _, known := r.caches(t, "")["crontabs.first.example.com"]; known {
		t.Error("what serves a definition was made before anybody asked for it")
	}
	if res, body := ask(t, client, "GET", r.URL+"/apis/first.example.com/v1/crontabs", nil); res.StatusCode != http.StatusOK {
		t.Errorf("%s", body)
	}
	until(t, "the cache of a definition is filled", func() bool {
		return r.cache(t, "crontabs.first.example.com").Status.State == v1alpha1.CacheFresh
	})
}

// reasons are those of a journey's steps.
func reasons(j *v1alpha1.Journey) string {
	var all []string
	for _, step := range j.Status.Steps {
		if step.Reason != nil {
			all = append(all, step.Reason.Kind)
		}
	}
	return strings.Join(all, " ")
}
