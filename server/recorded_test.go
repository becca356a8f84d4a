package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/filter"
)

// recordedFile are the journeys that the tests of the screen's panes show.
const recordedFile = "../tui/pane/testdata/journeys.json"

// recorder sends requests and keeps their journeys. Each has the number in its recorded name, which does not change when one before it is no
// longer recorded.
type recorder struct {
	*running
	t        *testing.T
	journeys []*v1alpha1.Journey
	numbers  []int
	skipped  int
	caches   []string // those that are known to be filled
}

func (r *recorder) add(j *v1alpha1.Journey) {
	r.journeys, r.numbers = append(r.journeys, j), append(r.numbers, len(r.journeys)+r.skipped+1)
}

// pop forgets the last journey, and returns its name on this server.
func (r *recorder) pop() string {
	last := len(r.journeys) - 1
	name := r.journeys[last].Name
	r.journeys, r.numbers = r.journeys[:last], r.numbers[:last]
	return name
}

// skip leaves a number out.
func (r *recorder) skip() { r.skipped++ }

// TestRecorded sends the requests whose journeys the tests of the screen show, and holds those that are recorded against
// what this server does: the same steps, called in the same order by the same ones. -rewrite records them anew.
func TestRecorded(t *testing.T) {
	t.Parallel()
	r := &recorder{running: start(t, prefilled, allow), t: t}
	r.filled("namespaces") // admission asks it about each write
	r.reads()
	r.writes()
	r.custom()
	r.touched()
	r.defaulted()
	r.compare("rec", recordedFile, func(data []byte) []byte { return data })
}

// compare holds what is recorded in a file against the journeys that were kept. -rewrite records these, with names that begin so and
// with what is the same in each run.
func (r *recorder) compare(prefix, file string, lasting func([]byte) []byte) {
	t := r.t
	t.Helper()
	data, err := os.ReadFile(file)
	must(t, err)
	if rewriting() {
		data = lasting(r.normal(prefix, recordedIn(t, data)))
		must(t, os.WriteFile(file, data, 0o644))
	}
	was := recordedIn(t, data)
	if len(was) != len(r.journeys) {
		t.Fatalf("%d journeys are recorded, want %d: go test ./server -run %s -rewrite", len(was), len(r.journeys), t.Name())
	}
	for i, j := range r.journeys {
		if was, is := shapeOf(&was[i]), shapeOf(j); was != is {
			t.Errorf("%s %s: what is recorded\n%s\nis not what happens:\n%s\ngo test ./server -run %s -rewrite", j.Spec.Method, j.Spec.URI, was, is, t.Name())
		}
	}
}

// recordedIn are the journeys that a file has.
func recordedIn(t *testing.T, data []byte) []v1alpha1.Journey {
	t.Helper()
	var list v1alpha1.JourneyList
	must(t, json.Unmarshal(data, &list))
	return list.Items
}

// normal is what is recorded of the journeys. The file had others before.
func (r *recorder) normal(prefix string, before []v1alpha1.Journey) []byte {
	n, lines := newNormal(), linesOf(before)
	var all []*v1alpha1.Journey
	for i, j := range r.journeys {
		name := fmt.Sprintf("%s-%d", prefix, r.numbers[i])
		n.recorded[j.Name] = name
		j = j.DeepCopy()
		n.journey(j, recordedTime.Add(time.Duration(r.numbers[i])*time.Second), lines)
		j.Name = name
		all = append(all, j)
	}
	return n.text(recordingOf(r.t, all))
}

// shapeOf is what of a journey does not depend on the time.
func shapeOf(j *v1alpha1.Journey) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %v\n", j.Spec.URI, j.Status.Code, j.Status.Touched)
	for _, s := range j.Status.Steps {
		fmt.Fprintf(&b, "%d %s %v %v\n", s.Parent, s.ID, s.Before != nil, s.After != nil)
	}
	return b.String()
}

// send sends a request whose journey is kept, with objects, and returns the answer.
func (r *recorder) send(method, path, body string, code int, headers ...string) []byte {
	r.t.Helper()
	headers = append([]string{"Kx-Trace: objects", "Content-Type: application/json"}, headers...)
	res, data := ask(r.t, r.httpClient(r.t), method, r.URL+path, strings.NewReader(body), headers...)
	if res.StatusCode != code {
		r.t.Fatalf("%s %s: %s %s, want %d", method, path, res.Status, data, code)
	}
	r.keep(res.Header.Get("Kx-Journey"), 0)
	return data
}

// keep keeps a journey once it has ended and events went to as many watchers. If the cache of its resource is filled, it waits until
// that has dispatched the event of what was written. A cache that begins to fill may see the event or not, so its marks are left out.
func (r *recorder) keep(id string, watchers int) {
	r.t.Helper()
	var j *v1alpha1.Journey
	until(r.t, "the journey is over", func() bool {
		j = r.journeyOf(r.t, id)
		s := &j.Status
		dispatched := slices.ContainsFunc(s.Marks, func(m v1alpha1.Mark) bool { return m.ID == "cacher.dispatch" })
		return s.Phase == v1alpha1.JourneyComplete && len(s.Deliveries) >= watchers && (s.Revision == 0 || dispatched || !r.cached(j))
	})
	if !r.cached(j) {
		j.Status.Marks = nil
	}
	r.add(j)
}

func (r *recorder) cached(j *v1alpha1.Journey) bool {
	return slices.Contains(r.caches, strings.TrimSuffix(j.Spec.Resource+"."+j.Spec.Group, "."))
}

const recordedMaps = "/api/v1/namespaces/default/configmaps"

// filled waits until a watch cache is.
func (r *recorder) filled(resource string) {
	r.t.Helper()
	until(r.t, "the cache is filled", func() bool {
		var c v1alpha1.Cache
		r.kx(r.t, "GET", "caches/"+resource, nil, 200, &c)
		return c.Status.State == v1alpha1.CacheFresh && c.Status.Lag == 0
	})
	r.caches = append(r.caches, resource)
}

// seen waits until the cache of configmaps has what etcd has, for a request that it is to answer.
func (r *recorder) seen() { r.filled("configmaps") }

func (r *recorder) reads() {
	r.seen()
	r.send("POST", recordedMaps, `{"metadata":{"name":"demo"},"data":{"a":"1"}}`, 201)
	r.seen()
	r.object("/demo?resourceVersion=0") // from here on the cache has the object's bytes, whether or not it took them from the write
	r.send("GET", recordedMaps+"/demo?resourceVersion=0", "", 200)
	r.send("GET", recordedMaps+"/demo", "", 200)
	r.send("GET", recordedMaps+"?resourceVersion=0", "", 200)
	r.skip()
	r.send("GET", recordedMaps+"/nope", "", 404)
}

// writes are seen by three watches: of all configmaps, of one label, and of another namespace.
func (r *recorder) writes() {
	for _, path := range []string{recordedMaps + "?watch=true&resourceVersion=0", recordedMaps + "?watch=true&resourceVersion=0&labelSelector=app%3Dblue", "/api/v1/namespaces/other/configmaps?watch=true"} {
		r.watch(path)
	}
	old := r.object("/demo")
	r.send("PUT", recordedMaps+"/demo", `{"metadata":{"name":"demo","labels":{"app":"red"}},"data":{"a":"2","b":"3"}}`, 200)
	r.wait(1)
	r.seen()
	r.send("PUT", recordedMaps+"/demo", string(old), 409)
	r.send("PATCH", recordedMaps+"/demo", `{"metadata":{"labels":{"app":"blue"}},"data":{"b":null}}`, 200, "Content-Type: application/merge-patch+json")
	r.wait(2)
	r.send("POST", recordedMaps+"?dryRun=All", `{"metadata":{"name":"dry"}}`, 201)
	r.seen()
	r.send("DELETE", recordedMaps+"/demo", "", 200)
	r.wait(2)
}

// wait reads the last journey again when events of its write went to as many watchers.
func (r *recorder) wait(watchers int) {
	r.t.Helper()
	r.keep(r.pop(), watchers)
}

// watch opens a watch that lasts as long as the test.
func (r *recorder) watch(path string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(within(r.t), http.MethodGet, r.URL+path, nil)
	must(r.t, err)
	req.Header.Set("Kx-Trace", "objects")
	res, err := r.httpClient(r.t).Do(req)
	must(r.t, err)
	r.t.Cleanup(func() { res.Body.Close() })
	go func() { _, _ = io.Copy(io.Discard, res.Body) }()
}

func (r *recorder) object(name string) []byte {
	r.t.Helper()
	_, data := ask(r.t, r.httpClient(r.t), "GET", r.URL+recordedMaps+name, nil)
	return data
}

// custom are writes of a custom resource with a schema that has defaults and prunes.
func (r *recorder) custom() {
	crd := cronTab("recorded.example.com")
	r.define(r.t, crd)
	path := "/apis/recorded.example.com/v1/namespaces/default/crontabs"
	r.send("POST", path, `{"apiVersion":"recorded.example.com/v1","kind":"CronTab","metadata":{"name":"mine"},"spec":{"cronSpec":"* * * * */5","unknown":true}}`, 201)
	r.filled("crontabs.recorded.example.com")
	r.send("PATCH", path+"/mine?fieldManager=me&force=true", `{"apiVersion":"recorded.example.com/v1","kind":"CronTab","metadata":{"name":"mine"},"spec":{"cronSpec":"1 * * * *","replicas":4}}`, 200,
		"Content-Type: application/apply-patch+yaml")
}

// defaulted are writes of an object with many defaults.
func (r *recorder) defaulted() {
	const path = "/apis/apps/v1/namespaces/default/deployments"
	const object = `{"metadata":{"name":"web"},"spec":{"replicas":%d,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"example.com/web:%d"}]}}}}`
	r.filled("deployments.apps")
	r.send("POST", path, fmt.Sprintf(object, 1, 1), 201)
	r.filled("deployments.apps")
	r.send("PUT", path+"/web", fmt.Sprintf(object, 3, 2), 200)
}

// touched are writes that something was done to: one that is held while another client writes first, and one that etcd
// is made to fail.
func (r *recorder) touched() {
	const filtered = "step:etcd.txn resource:configmaps name:held"
	r.send("POST", recordedMaps, `{"metadata":{"name":"held"},"data":{"a":"1"}}`, 201)
	r.wait(1)
	r.pop()
	r.skip()
	r.seen()
	r.breakAt(r.t, "txn", v1alpha1.BreakpointSpec{Filter: filtered, Count: 1})
	journey := make(chan string, 1)
	go func() {
		req, err := http.NewRequestWithContext(within(r.t), http.MethodPut, r.URL+recordedMaps+"/held", strings.NewReader(`{"metadata":{"name":"held"},"data":{"a":"2"}}`))
		if err != nil {
			return
		}
		req.Header = http.Header{"Kx-Trace": {"objects"}, "Content-Type": {"application/json"}}
		if res, err := r.httpClient(r.t).Do(req); err == nil {
			res.Body.Close()
			journey <- res.Header.Get("Kx-Journey")
		}
	}()
	held := r.heldBy(r.t, "txn")
	r.add(held)
	method, path, contentType, body, ok := v1alpha1.Steal(held)
	if !ok {
		r.t.Fatal("there is nothing to steal")
	}
	if res, data := ask(r.t, r.httpClient(r.t), method, r.URL+path, bytes.NewReader(body), "Content-Type: "+contentType, filter.HoldHeader+": off"); res.StatusCode != 200 {
		r.t.Fatalf("the other writer: %s", data)
	}
	r.tell(r.t, held, v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionContinue})
	r.keep(<-journey, 1)
	r.fault(r.t, "fails", v1alpha1.FaultSpec{Filter: filtered, Effect: v1alpha1.FaultFail, Code: 503, Count: 1})
	r.send("PUT", recordedMaps+"/held", `{"metadata":{"name":"held"},"data":{"a":"3"}}`, 503)
	if last := r.journeys[len(r.journeys)-1]; !slices.Contains(last.Status.Touched, "Failed") {
		r.t.Errorf("%+v", last.Status.Touched)
	}
}
