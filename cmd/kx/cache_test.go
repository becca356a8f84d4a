package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/options"
)

// TestCache looks into the caches of a real server.
func TestCache(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "KUBECONFIG": "", "LANG": "C", "KX_JOIN_ONLY": ""} {
		t.Setenv(name, value)
	}
	if a := typeCommand("cache", "ls"); a.code != 1 || !strings.Contains(a.err, "no kx runs on "+filepath.Join(home, ".kx")) {
		t.Errorf("where nothing runs: %+v", a)
	}
	o := options.New()
	o.InitialObjects, o.WatchCache.Prefill = false, true
	o.Controllers = controller.Selection{"*", "-" + controller.ServiceAccounts, "-" + controller.RootCA}
	o.DataDir, o.Listen = filepath.Join(home, ".kx"), "127.0.0.1:0"
	s, err := server.Start(t.Context(), o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(t.Context()); err != nil {
			t.Log(err) // the test's context is over: nothing is waited for
		}
	})
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	until(t, "the caches are filled", func() bool {
		return client.RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error() == nil
	})
	maps := client.CoreV1().ConfigMaps("default")
	watcher, err := maps.Watch(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"app": "web"}}, Data: map[string]string{"k": "v"}}
	if _, err := maps.Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	<-watcher.ResultChan()

	for _, test := range []struct {
		args string
		want []string // expressions for lines
	}{
		{"cache ls", []string{`^NAME +STATE +SINCE +ITEMS +BYTES +REVISION +LAG +WATCHES +HITS +FALLBACKS$`,
			`^configmaps +Fresh +\d+s +1 +\d+ +\d+ +\d+ +1 +\d+ +\d+$`, `^deployments\.apps +Fresh +\d+s +0 +0 `}},
		{"cache get configmaps", []string{`^Name: +configmaps$`, `^State: +Fresh for \S+$`, `^Items: +1, \d+ B$`,
			`^Revision: +\d+, etcd is at \d+: caught up in `, `^History: +1 events after revision \d+, .*, the oldest \S+ ago$`,
			`^Answered: +\d+ by the cache, \d+ by etcd instead$`, `^Watches: +1$`,
			`^ *\d+ +\S+-\d+ +kx-admin +/configmaps/default/ +\S+ +app=web +\d+ +\d+ +1 +0/32 +-$`}},
		{"cache get configmaps default/a", []string{`^Key: +/configmaps/default/a$`, `^In the cache: +revision \d+, \d+ B \(the cache has seen revision \d+\)$`,
			`^In etcd: +revision \d+, \d+ B$`, `^Verdict: +the same$`, `^kind: ConfigMap$`, `^  k: v$`}},
		{"cache get namespaces kube-system", []string{`^Key: +/namespaces/kube-system$`, `^kind: Namespace$`}},
		{"cache check", []string{`^NAME +ITEMS +REVISION +TOOK +VERDICT$`, `^configmaps +1 +\d+ +\S+ +the same$`, `^namespaces +4 +\d+ +\S+ +the same$`}},
		{"cache check configmaps", []string{`^configmaps +1 +\d+ +\S+ +the same$`}},
	} {
		a := typeCommand(strings.Fields(test.args)...)
		if a.code != 0 || a.err != "" {
			t.Errorf("kx %s: %+v", test.args, a)
		}
		for _, want := range test.want {
			if !regexp.MustCompile("(?m)" + want).MatchString(a.out) {
				t.Errorf("kx %s does not say %s:\n%s", test.args, want, a.out)
			}
		}
	}
	for args, want := range map[string]string{
		"cache get nothing":              `the server has no cache "nothing": kx cache ls lists`,
		"cache check nothing":            `the server has no cache "nothing": kx cache ls lists`,
		"cache get configmaps default/b": `configmaps "b" not found`,
		"cache ls -o wide":               "use table, json, yaml",
	} {
		if a := typeCommand(strings.Fields(args)...); a.code != 1 || !strings.Contains(a.err, want) {
			t.Errorf("kx %s: %+v", args, a)
		}
	}
	for args, want := range map[string]string{"get conf": "configmaps\n:4\n", "get configmaps ": ":4\n", "check pods pods": ":4\n"} {
		if a := typeCommand(append([]string{"__complete", "cache"}, strings.Split(args, " ")...)...); a.code != 0 || a.out != want {
			t.Errorf("completing %s: %+v, want %q", args, a, want)
		}
	}
	testCacheOutputs(t)
}

// testCacheOutputs reads JSON and YAML back.
func testCacheOutputs(t *testing.T) {
	for format, unmarshal := range map[string]func([]byte, any) error{
		"json": json.Unmarshal, "yaml": func(data []byte, into any) error { return yaml.Unmarshal(data, into) },
	} {
		read := func(into any, args ...string) {
			t.Helper()
			a := typeCommand(append(args, "-o", format)...)
			if err := unmarshal([]byte(a.out), into); a.code != 0 || err != nil {
				t.Errorf("%v as %s: %v: %+v", args, format, err, a)
			}
		}
		var caches []v1alpha1.Cache
		if read(&caches, "cache", "ls"); len(caches) < 5 || caches[0].Status.State != v1alpha1.CacheFresh {
			t.Errorf("%+v", caches)
		}
		var cache v1alpha1.Cache
		if read(&cache, "cache", "get", "configmaps"); cache.Name != "configmaps" || len(cache.Status.Watchers) != 1 {
			t.Errorf("%+v", cache)
		}
		var object v1alpha1.CachedObject
		if read(&object, "cache", "get", "configmaps", "default/a"); object.Status.Cached == nil || object.Status.Cached.Object == nil {
			t.Errorf("%+v", object)
		}
		var checks []v1alpha1.CacheCheck
		if read(&checks, "cache", "check", "configmaps"); len(checks) != 1 || !checks[0].Status.Consistent {
			t.Errorf("%+v", checks)
		}
	}
}

// TestCacheDiffers shows what a server answers whose cache has lost something. No real one can be made to: the answers
// are those that server/kxapi gives with a storage that loses changes.
func TestCacheDiffers(t *testing.T) {
	answers := map[string]any{
		"": &v1alpha1.CacheList{Items: []v1alpha1.Cache{{ObjectMeta: metav1.ObjectMeta{Name: "pandas.example.com"}}, {ObjectMeta: metav1.ObjectMeta{Name: "gone"}}}},
		"/pandas.example.com/check": &v1alpha1.CacheCheck{
			ObjectMeta: metav1.ObjectMeta{Name: "pandas.example.com"},
			Status: v1alpha1.CacheCheckStatus{Revision: 9, Items: 3, TookMicros: 1500, Cut: 1200, Differences: []v1alpha1.CacheDifference{
				{Key: "/pandas/n/a", EtcdRevision: 7, Message: "/pandas/n/a is in etcd at revision 7, and not in the cache"}}},
		},
		"/pandas.example.com/object?name=a&namespace=n": json.RawMessage(`{"status":{"key":"/pandas/n/a","revision":8,
			"difference":"/pandas/n/a is at revision 5 in the cache, and at 7 in etcd",
			"cached":{"revision":5,"bytes":20,"object":{"kind":"Panda","spec":{"food":"bamboo"}}},
			"etcd":{"revision":7,"bytes":21,"object":{"kind":"Panda","spec":{"food":"apples"}}}}}`),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[strings.TrimPrefix(r.URL.RequestURI(), "/apis/kx.dev/v1alpha1/caches")]
		w.Header().Set("Content-Type", "application/json")
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: 404, Message: "not found"}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	data := fmt.Sprintf("{clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}", server.URL)
	if err := os.WriteFile(kubeconfig, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	const check = `NAME                ITEMS  REVISION   TOOK  VERDICT
pandas.example.com      3         9  1.5ms  1,201 differ

pandas.example.com at revision 9:
  /pandas/n/a is in etcd at revision 7, and not in the cache
  and 1,200 more
`
	const object = `Key:           /pandas/n/a
In the cache:  revision 5, 20 B (the cache has seen revision 8)
In etcd:       revision 7, 21 B
Verdict:       /pandas/n/a is at revision 5 in the cache, and at 7 in etcd

  kind: Panda
  spec:
-   food: bamboo
+   food: apples
`
	for args, want := range map[string]string{"check": check, "get pandas.example.com n/a": object} {
		a := typeCommand(append(append([]string{"cache"}, strings.Fields(args)...), "--kubeconfig", kubeconfig)...)
		if a.code != exitFound || a.out != want || a.err != "" {
			t.Errorf("kx cache %s: exit code %d\n%s%s", args, a.code, a.out, a.err)
		}
	}
}
