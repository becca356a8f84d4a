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
)

// stored is how many objects there are when a server starts again.
const stored = 5_000

// TestRestart starts a server over many objects, built-in and custom: from the first moment on lists are answered, whole,
// and never with 429; and once it says that it is ready, they come from caches that are filled.
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

	r := start(t, in(dir))
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
	if _, body := ask(t, client, "GET", r.URL+"/readyz?verbose", nil); !strings.Contains(string(body), "[+]storage-readiness ok\n") {
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
