package server_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/filter"
	"github.com/kx-apiserver/kx/server/options"
)

const (
	// largeBytes is what each of the objects of a long list holds, and longItems is how many there are.
	largeBytes, longItems = 10 << 10, 1200
	// mostHeld is what a list may hold beside what is kept anyway. Made as a whole, one takes twice the 12 MB that it is long.
	mostHeld = 8 << 20
)

// measureMemory has tests say how much memory this process takes. Nothing else may run in it meanwhile, so -parallel 1 goes with it.
var measureMemory = flag.Bool("memory", false, "also assert how much memory requests take: with -parallel 1, without the race detector")

// large is what objects are full of: with lines, and with what has to be quoted.
var large = strings.Repeat("a line: with <text> that is not too short\n", largeBytes/43)

// fillEtcd writes objects as the server would.
func (r *running) fillEtcd(t testing.TB, prefix string, objects int, object func(name string) []byte) {
	t.Helper()
	client := r.etcd(t)
	var ops []clientv3.Op
	for i := range objects {
		name := fmt.Sprintf("o%06d", i)
		if ops = append(ops, clientv3.OpPut(prefix+name, string(object(name)))); len(ops) == 50 || i == objects-1 {
			_, err := client.Txn(t.Context()).Then(ops...).Commit()
			must(t, err)
			ops = nil
		}
	}
}

func storedConfigMap(t testing.TB) func(name string) []byte {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	encoder := scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion)
	return func(name string) []byte {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: "u"}, Data: map[string]string{"d": large}}
		data, err := runtime.Encode(encoder, cm)
		must(t, err)
		return data
	}
}

func storedTab(t testing.TB) func(name string) []byte {
	return func(name string) []byte {
		return append(marshal(t, map[string]any{
			"apiVersion": "long.example.com/v1", "kind": "CronTab",
			"metadata": map[string]any{"name": name, "namespace": "default", "uid": "u", "creationTimestamp": "2026-01-02T03:04:05Z", "generation": 1},
			"spec":     map[string]any{"cronSpec": large, "image": "i", "replicas": 1},
		}), '\n')
	}
}

// fillLongLists writes objects of a built-in resource, and of a custom one that has an older version too.
func (r *running) fillLongLists(t testing.TB, objects int) {
	t.Helper()
	r.fillEtcd(t, "/registry/configmaps/default/", objects, storedConfigMap(t))
	crd := cronTab("long.example.com")
	older := crd.Spec.Versions[0]
	older.Name, older.Storage = "v1beta1", false
	crd.Spec.Versions = append(crd.Spec.Versions, older)
	r.define(t, crd)
	r.fillEtcd(t, "/registry/long.example.com/crontabs/default/", objects, storedTab(t))
}

// http1 is the administrator's client of HTTP/1.1: it holds nothing of an answer that nobody has read.
func (r *running) http1(t testing.TB) *http.Client {
	t.Helper()
	config := rest.CopyConfig(r.config)
	config.DisableCompression = true
	config.NextProtos = []string{"http/1.1"}
	c, err := rest.HTTPClientFor(config)
	must(t, err)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// open asks for a list, and returns its answer unread.
func (r *running) open(t testing.TB, client *http.Client, path, accept string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL+path, nil)
	must(t, err)
	req.Header.Set("Accept", accept)
	res, err := client.Do(req)
	must(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// held is how much more is in memory while a list is sent than before it was asked for.
func (r *running) held(t testing.TB, client *http.Client, path, accept string) int64 {
	t.Helper()
	// The first time forms are kept that others may want, and connections are opened.
	res := r.open(t, client, path, accept)
	length, err := io.Copy(io.Discard, res.Body)
	must(t, err)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s as %s: %s", path, accept, res.Status)
	}
	before, most := heap(), 0.0
	res = r.open(t, client, path, accept)
	const looks = 2
	for range looks {
		_, err := io.CopyN(io.Discard, res.Body, length/(looks+1))
		must(t, err)
		most = max(most, atRest(before+mostHeld))
	}
	_, err = io.Copy(io.Discard, res.Body)
	must(t, err)
	return int64(most - before)
}

// TestPagesGrowSlowly lists a resource that had only small objects when it was read last, and has large ones behind them now.
func TestPagesGrowSlowly(t *testing.T) {
	const small, items, most = 500, 8000, 5 << 20
	r := start(t, func(o *options.Options) { o.WatchCache.Enabled = false })
	r.fillEtcd(t, "/registry/configmaps/default/a", items, func(name string) []byte {
		return marshal(t, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a" + name, "namespace": "default", "uid": "u"},
			"data": map[string]any{"d": strings.Repeat("x", small)},
		})
	})
	list := func() *v1alpha1.Journey {
		res := r.open(t, r.httpClient(t), configMaps, runtime.ContentTypeJSON)
		_, err := io.Copy(io.Discard, res.Body)
		must(t, err)
		return r.ended(t, res.Header.Get(filter.JourneyHeader))
	}
	list()
	r.fillEtcd(t, "/registry/configmaps/default/b", longItems, storedConfigMap(t))
	pages := 0
	for _, step := range list().Status.Steps {
		for _, a := range step.Attributes {
			if step.ID != "etcd.range" || a.Name != "bytes" {
				continue
			}
			pages++
			if size, err := strconv.Atoi(a.Value); err != nil || size > most {
				t.Errorf("page %d has %s bytes, most is %d", pages, a.Value, most)
			}
		}
	}
	if pages < 10 {
		t.Errorf("the list has %d pages", pages)
	}
}

// atRest is how much memory is in use when the server waits for the client to read on. Until then it also counts what the server
// allocates while it is counted, so it is counted again if that is more than is allowed.
func atRest(most float64) (used float64) {
	for range 20 {
		if used = heap(); used <= most {
			break
		}
	}
	return used
}

// listForms are the forms in which lists can be had.
var listForms = []struct{ what, path, accept string }{
	{"JSON", configMaps, runtime.ContentTypeJSON},
	{"JSON for people", configMaps + "?pretty=true", runtime.ContentTypeJSON},
	{"YAML", configMaps, runtime.ContentTypeYAML},
	{"protobuf", configMaps, runtime.ContentTypeProtobuf},
	{"metadata", configMaps, runtime.ContentTypeJSON + partial},
	{"metadata in protobuf", configMaps, runtime.ContentTypeProtobuf + partial},
	{"a table of objects", configMaps + "?includeObject=Object", runtime.ContentTypeJSON + asTable},
	{"selected", configMaps + "?fieldSelector=metadata.name!%3Dx&labelSelector=!x", runtime.ContentTypeJSON},
	{"a page", configMaps + "?limit=1199", runtime.ContentTypeJSON},
	{"custom resources as JSON", tabs, runtime.ContentTypeJSON},
	{"custom resources for people", tabs + "?pretty=true", runtime.ContentTypeJSON},
	{"custom resources as YAML", tabs, runtime.ContentTypeYAML},
	{"custom resources as a table of objects", tabs + "?includeObject=Object", runtime.ContentTypeJSON + asTable},
	{"metadata of custom resources in protobuf", tabs, runtime.ContentTypeProtobuf + partial},
	{"custom resources in another version", strings.Replace(tabs, "v1", "v1beta1", 1), runtime.ContentTypeJSON},
	{"custom resources in another version, selected", strings.Replace(tabs, "v1", "v1beta1", 1) + "?fieldSelector=spec.image%3Di", runtime.ContentTypeYAML},
}

const (
	partial = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	asTable = ";as=Table;g=meta.k8s.io;v=v1"
	tabs    = "/apis/long.example.com/v1/namespaces/default/crontabs"
)

// TestListsHoldLittle reads lists of 12 MB in every form, slowly, and looks what the server holds meanwhile.
func TestListsHoldLittle(t *testing.T) {
	if !*measureMemory {
		t.Skip("it measures the memory of this process: -memory runs it")
	}
	// They differ from those of a cache in where they come from.
	uncached := []string{"JSON", "protobuf", "a page", "custom resources as YAML", "custom resources in another version, selected"}
	for _, cached := range []bool{true, false} {
		r := start(t, prefilled, func(o *options.Options) { o.WatchCache.Enabled = cached })
		r.fillLongLists(t, longItems)
		client := r.http1(t)
		for _, tc := range listForms {
			if !cached && !slices.Contains(uncached, tc.what) {
				continue
			}
			held := r.held(t, client, tc.path, tc.accept)
			t.Logf("cached %t, %s: %d KiB", cached, tc.what, held>>10)
			if held > mostHeld {
				t.Errorf("cached %t, %s: %d KiB are held, most is %d", cached, tc.what, held>>10, mostHeld>>10)
			}
		}
	}
}

// TestListsAreCutOffWhereTheyFail: an object at the end of a long list can't be read.
func TestListsAreCutOffWhereTheyFail(t *testing.T) {
	r := start(t, func(o *options.Options) { o.WatchCache.Enabled = false })
	r.fillEtcd(t, "/registry/configmaps/default/", longItems, storedConfigMap(t))
	_, err := r.etcd(t).Put(t.Context(), "/registry/configmaps/default/z", "nonsense")
	must(t, err)
	aborts := func() float64 { return r.counter(t, "apiserver_request_aborts_total", `verb="LIST"`) }
	for i, client := range []*http.Client{r.http1(t), r.httpClient(t)} {
		before := aborts()
		res := r.open(t, client, configMaps, runtime.ContentTypeYAML)
		data, err := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusOK || err == nil || res.ProtoMajor != i+1 {
			t.Errorf("HTTP/%d: %s and %d bytes without an error", res.ProtoMajor, res.Status, len(data))
		}
		journey := r.ended(t, res.Header.Get(filter.JourneyHeader))
		said := fmt.Sprint(journey)
		if journey.Status.WatchError != http.StatusInternalServerError || !strings.Contains(said, "the connection is cut") || !strings.Contains(said, "/registry/configmaps/default/z") {
			t.Errorf("HTTP/%d: the journey says %s", res.ProtoMajor, said)
		}
		if after := aborts(); after != before+1 {
			t.Errorf("HTTP/%d: %v aborts were counted, %v before", res.ProtoMajor, after, before)
		}
	}
	// In a list of which nothing was sent it is an error as any other.
	res := r.open(t, r.httpClient(t), configMaps+"?limit=1&continue=", runtime.ContentTypeJSON)
	if res.StatusCode != http.StatusOK {
		t.Error(res.Status)
	}
	res = r.open(t, r.httpClient(t), configMaps+"?fieldSelector=metadata.name%3Dz", runtime.ContentTypeJSON)
	data, err := io.ReadAll(res.Body)
	must(t, err)
	if res.StatusCode != http.StatusInternalServerError || !bytes.Contains(data, []byte("/registry/configmaps/default/z")) {
		t.Errorf("%s %s", res.Status, data)
	}
}

// counter is a metric about config maps, with a label.
func (r *running) counter(t testing.TB, name, label string) float64 {
	t.Helper()
	_, body := ask(t, r.httpClient(t), "GET", r.URL+"/metrics", nil)
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, name+"{") && strings.Contains(line, label) && strings.Contains(line, `resource="configmaps"`) {
			value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
			must(t, err)
			return value
		}
	}
	return 0
}

// ended is a journey that has ended.
func (r *running) ended(t testing.TB, id string) *v1alpha1.Journey {
	t.Helper()
	for {
		j := &v1alpha1.Journey{}
		r.kx(t, "GET", "journeys/"+id, nil, http.StatusOK, j)
		if j.Status.Phase == v1alpha1.JourneyComplete {
			return j
		}
	}
}

// TestListsEndWithTheirClient: nothing is read for a client that has gone.
func TestListsEndWithTheirClient(t *testing.T) {
	r := start(t, func(o *options.Options) { o.WatchCache.Enabled = false })
	r.fillEtcd(t, "/registry/configmaps/default/", longItems, storedConfigMap(t))
	read := func() float64 { return r.counter(t, "apiserver_storage_list_fetched_objects_total", `storage="etcd"`) }
	for _, client := range []*http.Client{r.http1(t), r.httpClient(t)} {
		before := read()
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+configMaps+"?pretty=true", nil)
		must(t, err)
		res, err := client.Do(req)
		must(t, err)
		_, err = io.CopyN(io.Discard, res.Body, 1<<20)
		must(t, err)
		cancel()
		_ = res.Body.Close()
		r.ended(t, res.Header.Get(filter.JourneyHeader))
		if n := read() - before; n == 0 || n > longItems*9/10 {
			t.Errorf("HTTP/%d: %s of %d objects were read", res.ProtoMajor, strconv.FormatFloat(n, 'f', 0, 64), longItems)
		}
	}
}
