package server_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// worker is a definition like most: a spec with a few levels, an atomic list, and a status with conditions.
const worker = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"workers.bench.example.com"},
"spec":{"group":"bench.example.com","scope":"Namespaced","names":{"plural":"workers","singular":"worker","kind":"Worker"},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","properties":{
"image":{"type":"string"},"replicas":{"type":"integer","minimum":0},"schedule":{"type":"string"},
"paused":{"type":"boolean"},"round":{"type":"string"},"script":{"type":"string"},
"resources":{"type":"object","properties":{"cpu":{"type":"string"},"memory":{"type":"string"}}},
"selector":{"type":"object","additionalProperties":{"type":"string"}},
"env":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"value":{"type":"string"}}}}}},
"status":{"type":"object","properties":{"phase":{"type":"string"}}}}}}}]}}`

const workers = "/apis/bench.example.com/v1/namespaces/default/workers"

// roundAt precedes the number in an object that is changed in place.
var roundAt = []byte(`"round":"`)

// newWorker is a Worker of about size bytes: a third of it is one text, the rest a list of variables.
func newWorker(size int) []byte {
	var out bytes.Buffer
	out.WriteString(`{"apiVersion":"bench.example.com/v1","kind":"Worker","metadata":{"name":"w-0000000",` +
		`"labels":{"app":"bench","tier":"back","group":"g07"},"annotations":{"example.com/revision":"12"}},` +
		`"spec":{"image":"registry.example.com/team/image:v1.2.3","replicas":3,"schedule":"*/5 * * * *","paused":false,` +
		`"round":"0000000","resources":{"cpu":"500m","memory":"128Mi"},"selector":{"app":"bench","tier":"back"},"script":"`)
	out.WriteString(strings.Repeat("run --all; ", size/3/11))
	out.WriteString(`","env":[`)
	for i := 0; out.Len() < size-60; i++ {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `{"name":"VARIABLE_%02d","value":"https://service-%02d.example.com:8443/"}`, i, i)
	}
	out.WriteString("]}}")
	return out.Bytes()
}

// setDigits writes n over the digits that follow after.
func setDigits(b *testing.B, body, after []byte, n int) {
	i := bytes.Index(body, after)
	if i < 0 {
		b.Fatalf("no %s in %s", after, body)
	}
	for at := i + len(after) + 6; at >= i+len(after); at-- {
		body[at] = byte('0' + n%10)
		n /= 10
	}
}

// BenchmarkAllocations reports what the server allocates for one request, and how many times the object's bytes that
// is. The client and etcd's server are in this process too, and are left out by their stacks. With -v it lists the
// functions.
func BenchmarkAllocations(b *testing.B) {
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 1
	s := newBench(b)
	c := newRawClient(b, s)
	c.send(b, http.MethodPost, definitionsPath, "application/json", []byte(worker))
	until(b, "the definition is established", func() bool {
		c.send(b, http.MethodGet, definitionsPath+"/workers.bench.example.com", "", nil)
		var crd apiextensionsv1.CustomResourceDefinition
		must(b, json.Unmarshal(c.answer, &crd))
		return isTrue(&crd, apiextensionsv1.Established)
	})
	configMap := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"w-0000000","labels":{"app":"bench"}},`+
		`"data":{"round":"0000000","k":%q}}`, kibibyte)
	for _, object := range []allocations{
		{name: "configmap-1KB", path: configMaps, field: "data", body: configMap},
		{name: "worker-1.5KB", path: workers, field: "spec", body: newWorker(1536)},
		{name: "worker-10KB", path: workers, field: "spec", body: newWorker(10240)},
	} {
		object.client = c
		b.Run(object.name, object.run)
	}
}

// allocations are those of the requests for one kind of object.
type allocations struct {
	name, path string
	field      string // in which the round is
	body       []byte
	client     *rawClient
	number     int // of the last object
}

func (a *allocations) create(b *testing.B) {
	a.number++
	setDigits(b, a.body, []byte(`"name":"w-`), a.number)
	a.client.send(b, http.MethodPost, a.path, "application/json", a.body)
}

func (a *allocations) run(b *testing.B) {
	a.number = len(a.body) * 100 // objects of another size have the same path
	a.create(b)
	one := fmt.Sprintf("%s/w-%07d", a.path, a.number)
	sent := bytes.Clone(a.client.answer)
	patch := fmt.Appendf(nil, `{%q:{"round":"0000000"}}`, a.field)
	round := 0
	for _, request := range []struct {
		name string
		send func()
	}{
		{"get-rv0", func() { a.client.send(b, http.MethodGet, one+"?resourceVersion=0", "", nil) }},
		{"get", func() { a.client.send(b, http.MethodGet, one, "", nil) }},
		{"post", func() { a.create(b) }},
		{"put", func() {
			round++
			setDigits(b, sent, roundAt, round)
			a.client.send(b, http.MethodPut, one, "application/json", sent)
			sent = append(sent[:0], a.client.answer...)
		}},
		{"patch", func() {
			round++
			setDigits(b, patch, roundAt, round)
			a.client.send(b, http.MethodPatch, one, "application/merge-patch+json", patch)
		}},
	} {
		b.Run(request.name, func(b *testing.B) {
			for range 20 {
				request.send()
			}
			a.measure(b, request.send)
		})
	}
	b.Run("delete", func(b *testing.B) {
		next := a.number
		for range b.N {
			a.create(b)
		}
		path := []byte(a.path + "/w-0000000")
		a.measure(b, func() {
			next++
			setDigits(b, path, []byte("/w-"), next)
			a.client.send(b, http.MethodDelete, string(path), "", nil)
		})
	})
}

// measure sends b.N requests and reports what they allocated.
func (a *allocations) measure(b *testing.B, send func()) {
	before := profile(b)
	b.ResetTimer()
	for range b.N {
		send()
	}
	b.StopTimer()
	after := profile(b)
	var server, etcd amount
	for place, total := range after {
		grown := amount{total.bytes - before[place].bytes, total.objects - before[place].objects}
		after[place] = grown
		if place == etcdServer {
			etcd = grown
		} else {
			server = amount{server.bytes + grown.bytes, server.objects + grown.objects}
		}
	}
	each := func(n int64) float64 { return float64(n) / float64(b.N) }
	b.ReportMetric(each(server.bytes), "server-B/op")
	b.ReportMetric(each(server.objects), "server-allocs/op")
	b.ReportMetric(each(etcd.bytes), "etcd-B/op")
	b.ReportMetric(each(server.bytes)/float64(len(a.body)), "×object")
	if !testing.Verbose() || b.N == 1 {
		return
	}
	for _, place := range slices.SortedFunc(maps.Keys(after), func(x, y string) int { return cmp.Compare(after[y].bytes, after[x].bytes) }) {
		if grown := after[place]; each(grown.bytes) >= 16 {
			b.Logf("%9.0f B %8.2f  %s", each(grown.bytes), each(grown.objects), place)
		}
	}
}

// amount counts allocations.
type amount struct{ bytes, objects int64 }

// profile returns all allocations so far, by the place that placeOf names.
func profile(b *testing.B) map[string]amount {
	runtime.GC() // the profile has what was allocated before the last but one
	runtime.GC()
	n, _ := runtime.MemProfile(nil, true)
	records := make([]runtime.MemProfileRecord, n+1000)
	n, ok := runtime.MemProfile(records, true)
	if !ok {
		b.Fatalf("the profile has %d records by now, more than the %d there is room for", n, len(records))
	}
	places := map[string]amount{}
	for i := range records[:n] {
		place := placeOf(records[i].Stack())
		if place == "" {
			continue
		}
		known := places[place]
		places[place] = amount{known.bytes + records[i].AllocBytes, known.objects + records[i].AllocObjects}
	}
	return places
}

const etcdServer = "etcd's server"

// placeOf names the innermost function of kx in a stack and the library's function that it calls. It returns etcdServer
// for stacks of etcd's server, and nothing for those of this benchmark. A stack without kx has the name of its innermost
// function.
func placeOf(stack []uintptr) string {
	const kx = "github.com/kx-apiserver/kx/"
	frames := runtime.CallersFrames(stack)
	first, called := "", ""
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		name := frame.Function
		if first == "" {
			first = name
		}
		own, isOwn := strings.CutPrefix(name, kx)
		switch {
		case strings.HasPrefix(own, "server_test."):
			return ""
		case strings.HasPrefix(name, "go.etcd.io/etcd/client/"):
			return "etcd's client"
		case strings.HasPrefix(name, "go.etcd.io/"), strings.HasPrefix(own, "store/embedded."), strings.HasPrefix(name, "google.golang.org/grpc"):
			return etcdServer
		case isOwn:
			return own + " → " + called
		}
		called = name
	}
	return first
}
