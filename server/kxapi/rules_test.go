package kxapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/options"
)

func send(t *testing.T, method, at, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

const (
	breakpointsPath = "/apis/kx.dev/v1alpha1/breakpoints"
	faultsPath      = "/apis/kx.dev/v1alpha1/faults"
)

func TestRulesAreValidated(t *testing.T) {
	server := newServer(t, trace.NewRecorder("p", trace.DefaultLimits))
	for _, tt := range []struct{ path, spec, want string }{
		{breakpointsPath, `{}`, "spec.filter: Required value"},
		{breakpointsPath, `{"filter":"step:etcd.txn ("}`, `spec.filter: Invalid value: \"step:etcd.txn (\": filter, column 16`},
		{breakpointsPath, `{"filter":"verb:get steps(a)>1"}`, `filter, column 10: \"steps(\" counts to the request's end`},
		{breakpointsPath, `{"filter":"after:q-1"}`, `filter, column 7: no request \"q-1\" is known here`},
		{faultsPath, `{"effect":"DropWatch","filter":"touched:spec"}`, `column 1: \"touched\" is not known while the request runs`},
		{breakpointsPath, `{"filter":"verb:*","at":"Middle"}`, "spec.at: Unsupported value"},
		{breakpointsPath, `{"filter":"verb:*","action":"Run"}`, "spec.action: Unsupported value"},
		{breakpointsPath, `{"filter":"verb:*","skip":-1,"count":-1,"leaseSeconds":-1}`, "[spec.skip: Invalid value: -1: must be 0 or more, spec.count: Invalid value: -1: must be 0 or more, spec.leaseSeconds"},
		{faultsPath, `{}`, "spec.effect: Required value"},
		{faultsPath, `{"effect":"Explode"}`, "spec.effect: Unsupported value"},
		{faultsPath, `{"effect":"Delay"}`, "spec.delay: Required value"},
		{faultsPath, `{"effect":"Delay","delay":"1h"}`, "spec.delay: Invalid value"},
		{faultsPath, `{"effect":"Lag"}`, "spec.delay: Required value"},
		{faultsPath, `{"effect":"Lag","delay":"1s","at":"Start"}`, "spec.at: Forbidden"},
		{faultsPath, `{"effect":"Fail"}`, "spec.code: Invalid value: 0"},
		{faultsPath, `{"effect":"Fail","code":200}`, "spec.code: Invalid value: 200"},
		{faultsPath, `{"effect":"DropWatch","code":500}`, "spec.code: Forbidden"},
		{faultsPath, `{"effect":"TimeoutAfterCommit","at":"End"}`, "spec.at: Forbidden"},
		{faultsPath, `{"effect":"DropWatch","probability":1.5}`, "spec.probability: Invalid value: 1.5"},
		{faultsPath, `{"effect":"DropWatch","filter":"colour:red"}`, "spec.filter: Invalid value"},
	} {
		code, body := send(t, "POST", server.URL+tt.path, `{"metadata":{"name":"a"},"spec":`+tt.spec+`}`)
		if code != 422 || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s: %d %s", tt.path, tt.spec, code, body)
		}
	}
	if code, body := send(t, "POST", server.URL+breakpointsPath, `{"metadata":{"name":"a/b"},"spec":{"filter":"verb:*"}}`); code != 422 || !strings.Contains(body, "may not contain '/'") {
		t.Errorf("%d %s", code, body)
	}
	if code, body := send(t, "POST", server.URL+breakpointsPath, `{"spec":{"filter":"verb:*"}}`); code != 422 || !strings.Contains(body, "metadata.name: Required") {
		t.Errorf("%d %s", code, body)
	}
}

// TestRulesOfNamesThatDoNotExist: a rule that could never hit is refused, with the names that may have been meant.
func TestRulesOfNamesThatDoNotExist(t *testing.T) {
	server := newServer(t, trace.NewRecorder("p", trace.DefaultLimits))
	for _, tt := range []struct{ filter, want string }{
		{"step:no.such-step", `filter, column 6: there is no step "no.such-step"`},
		{"step:etcd.txn,store.gett", `filter, column 15: there is no step "store.gett"; near it: store.get, `},
		{"step(etcd.txxn name:a)", `there is no step "etcd.txxn"; near it: etcd.txn`},
		{"!step:stor.*", `there is no step "stor.*"; near it: store.`},
		{"step~^stor$", `there is no step "^stor$"`},
		{"layer:etcd4", `there is no layer "etcd4"; near it: etcd3, etcd`},
		{"layer:kubelet", `there is no layer "kubelet"; expected one of filter, handler, rest, `},
		{"reason:key-was-fre", `there is no reason "key-was-fre"; near it: key-was-free`},
		{"verb:gett", `there is no verb "gett"; near it: get`},
		{"method:PSOT", `there is no method "PSOT"; near it: POST`},
		{"phase:ended", `there is no phase "ended"; expected one of running, held, done`},
		{"ver:get", `there is no field "ver"; near it: verb`},
	} {
		for path, spec := range map[string]string{
			breakpointsPath: `{"filter":%q}`,
			faultsPath:      `{"effect":"Fail","code":500,"filter":%q}`,
		} {
			code, body := send(t, "POST", server.URL+path, fmt.Sprintf(`{"metadata":{"name":"a"},"spec":`+spec+`}`, tt.filter))
			var status metav1.Status
			if err := json.Unmarshal([]byte(body), &status); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			if code != 422 || status.Details == nil || len(status.Details.Causes) != 1 || status.Details.Causes[0].Field != "spec.filter" ||
				!strings.Contains(status.Details.Causes[0].Message, tt.want) {
				t.Errorf("%s %s: %d %s", path, tt.filter, code, body)
			}
		}
		code, body := get(t, server.URL+"/apis/kx.dev/v1alpha1/journeys?filter="+url.QueryEscape(tt.filter))
		if want, err := json.Marshal(tt.want); code != 400 || err != nil || !strings.Contains(body, strings.Trim(string(want), `"`)) {
			t.Errorf("journeys %s: %d %s", tt.filter, code, body)
		}
	}
	for _, filter := range []string{
		"step:etcd.*", "step:*", "layer:ETCD", "verb:head", "verb~propfind", "resource:nothings", "user:x", "code:999",
	} {
		if code, body := get(t, server.URL+"/apis/kx.dev/v1alpha1/journeys?filter="+url.QueryEscape(filter)); code != 200 {
			t.Errorf("journeys %s: %d %s", filter, code, body)
		}
	}
}

func TestRuleObjects(t *testing.T) {
	r := trace.NewRecorder("p", trace.DefaultLimits)
	server := newServer(t, r)
	const one = `{"metadata":{"name":"one","labels":{"a":"b"}},"spec":{"filter":"step:store.get","action":"Trace"}}`
	if code, body := send(t, "POST", server.URL+breakpointsPath+"?dryRun=All", one); code != 201 {
		t.Fatalf("%d %s", code, body)
	}
	for _, want := range []int{201, 409} {
		if code, body := send(t, "POST", server.URL+breakpointsPath, one); code != want {
			t.Fatalf("%d %s", code, body)
		}
	}
	code, body := send(t, "POST", server.URL+breakpointsPath, `{"metadata":{"generateName":"two-"},"spec":{"filter":"verb:get","action":"Trace"}}`)
	if code != 201 || !strings.Contains(body, `"name":"two-`) || !strings.Contains(body, `"at":"Start"`) {
		t.Fatalf("%d %s", code, body)
	}
	j := travel(r, "get", "x", 200)
	var b v1alpha1.Breakpoint
	_, body = send(t, "GET", server.URL+breakpointsPath+"/one", "")
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		t.Fatal(err)
	}
	if b.Status.Hits != 1 || b.Status.Matches != 1 || b.Status.LastHit.Journey != j.ID() || b.UID == "" || b.CreationTimestamp.IsZero() {
		t.Errorf("%s", body)
	}
	_, body = get(t, server.URL+breakpointsPath, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	var table metav1.Table
	if err := json.Unmarshal([]byte(body), &table); err != nil || len(table.Rows) != 2 {
		t.Fatalf("%v: %s", err, body)
	}
	if got := fmt.Sprint(table.Rows[0].Cells[:7]); got != "[one step:store.get Start Trace 1 0 "+j.ID()+"]" {
		t.Error(got)
	}
	for query, want := range map[string]int{
		"": 2, "?labelSelector=a=b": 1, "?fieldSelector=metadata.name=one": 1, "?labelSelector=a=c": 0, "?limit=1": 2,
	} {
		var list v1alpha1.BreakpointList
		_, body := send(t, "GET", server.URL+breakpointsPath+query, "")
		if err := json.Unmarshal([]byte(body), &list); err != nil || len(list.Items) != want || list.ResourceVersion == "" {
			t.Errorf("%s: %s", query, body)
		}
	}
	for _, path := range []string{"/one?dryRun=All", "/one?dryRun=All", "?labelSelector=a=b"} {
		if code, body := send(t, "DELETE", server.URL+breakpointsPath+path, ""); code != 200 {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, body := send(t, "DELETE", server.URL+breakpointsPath+"/one", ""); code != 404 {
		t.Errorf("%d %s", code, body)
	}
	if code, body := send(t, "DELETE", server.URL+breakpointsPath, ""); code != 200 || !strings.Contains(body, "two-") {
		t.Errorf("%d %s", code, body)
	}
	travel(r, "get", "y", 200)
	if n := len(r.Get("p-2").Record().Interventions); n != 0 {
		t.Errorf("%d interventions after the breakpoints were deleted", n)
	}
}

func makeBreakpoint(t *testing.T, r ruleStorage, name string, lease int32) {
	t.Helper()
	b := &v1alpha1.Breakpoint{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.BreakpointSpec{Filter: "step:store.get", Action: "Trace", LeaseSeconds: lease}}
	if _, err := r.Create(t.Context(), b, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func next(t *testing.T, w watch.Interface) string {
	t.Helper()
	select {
	case e, ok := <-w.ResultChan():
		if !ok {
			return "closed"
		}
		if s, ok := e.Object.(*metav1.Status); ok {
			return fmt.Sprint(e.Type, " ", s.Code)
		}
		return fmt.Sprint(e.Type, " ", e.Object.(*v1alpha1.Breakpoint).Name, " ", e.Object.(*v1alpha1.Breakpoint).Status.Hits)
	case <-t.Context().Done():
		return "nothing"
	}
}

func watchRules(t *testing.T, r ruleStorage, options *metainternalversion.ListOptions) watch.Interface {
	t.Helper()
	w, err := r.Watch(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Stop()
		for range w.ResultChan() {
		}
	})
	return w
}

func TestWatchRules(t *testing.T) {
	recorder := trace.NewRecorder("p", trace.DefaultLimits)
	r := newBreakpoints(parser{recorder, trace.Names}, newRecordings(parser{recorder, trace.Names}, options.Allow{Breakpoints: options.Always}))
	makeBreakpoint(t, r, "a", 0)
	yes := true
	w := watchRules(t, r, &metainternalversion.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true})
	want := func(w watch.Interface, lines ...string) {
		t.Helper()
		for _, line := range lines {
			if got := next(t, w); got != line {
				t.Errorf("got %q, want %q", got, line)
			}
		}
	}
	want(w, "ADDED a 0", "BOOKMARK  0")
	list, err := r.List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	from := list.(*v1alpha1.BreakpointList).ResourceVersion
	travel(recorder, "get", "x", 200)
	want(w, "MODIFIED a 1")
	makeBreakpoint(t, r, "b", 0)
	want(w, "ADDED b 0")
	if _, _, err := r.Delete(t.Context(), "a", rest.ValidateAllObjectFunc, nil); err != nil {
		t.Fatal(err)
	}
	want(w, "DELETED a 1")
	want(watchRules(t, r, &metainternalversion.ListOptions{ResourceVersion: from}), "ADDED b 0", "DELETED a 1")
	list, err = r.List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	makeBreakpoint(t, r, "short", 0)
	if _, _, err := r.Delete(t.Context(), "short", rest.ValidateAllObjectFunc, nil); err != nil {
		t.Fatal(err)
	}
	since := &metainternalversion.ListOptions{ResourceVersion: list.(*v1alpha1.BreakpointList).ResourceVersion}
	want(watchRules(t, r, since), "ADDED short 0", "DELETED short 0")
	for range maxDeleted {
		makeBreakpoint(t, r, "c", 0)
		if _, _, err := r.Delete(t.Context(), "c", rest.ValidateAllObjectFunc, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Watch(t.Context(), &metainternalversion.ListOptions{ResourceVersion: from}); err == nil || !strings.Contains(err.Error(), "too old") {
		t.Error(err)
	}
	if _, err := r.Watch(t.Context(), &metainternalversion.ListOptions{ResourceVersion: "5"}); err == nil || !strings.Contains(err.Error(), "not of this process") {
		t.Error(err)
	}
}

// TestLeases: a breakpoint with a lease stays as long as somebody watches.
func TestLeases(t *testing.T) {
	recorder := trace.NewRecorder("p", trace.DefaultLimits)
	r := newBreakpoints(parser{recorder, trace.Names}, newRecordings(parser{recorder, trace.Names}, options.Allow{Breakpoints: options.Always}))
	defer r.Destroy()
	w, err := r.Watch(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	makeBreakpoint(t, r, "a", 1)
	if got := next(t, w); got != "ADDED a 0" {
		t.Error(got)
	}
	e, err := r.find("a")
	if err != nil {
		t.Fatal(err)
	}
	r.expire(e) // its time is up, but it is watched
	if _, err := r.find("a"); err != nil {
		t.Error(err)
	}
	w.Stop()
	for range w.ResultChan() {
	}
	other := watchRules(t, r, &metainternalversion.ListOptions{ResourceVersion: "0"})
	other.Stop()
	for {
		r.mu.Lock()
		_, there := r.entries["a"]
		wake := r.wake
		r.mu.Unlock()
		if !there {
			break
		}
		select {
		case <-wake:
		case <-t.Context().Done():
			t.Fatal("it stays")
		}
	}
}

func TestMostRules(t *testing.T) {
	recorder := trace.NewRecorder("p", trace.DefaultLimits)
	b := &v1alpha1.Breakpoint{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: v1alpha1.BreakpointSpec{Filter: "verb:*"}}
	r := newBreakpoints(parser{recorder, trace.Names}, newRecordings(parser{recorder, trace.Names}, options.Allow{Breakpoints: options.Always}))
	for i := range maxRules {
		makeBreakpoint(t, r, fmt.Sprint(i), 0)
	}
	if _, err := r.Create(t.Context(), b, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "64 breakpoints already") {
		t.Error(err)
	}
	recorder.Control().Close()
	if _, err := newBreakpoints(parser{recorder, trace.Names}, newRecordings(parser{recorder, trace.Names}, options.Allow{Breakpoints: options.Always})).Create(t.Context(), b, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "stopping") {
		t.Error(err)
	}
}

func TestCommandsAreValidated(t *testing.T) {
	r := trace.NewRecorder("p", trace.DefaultLimits)
	server := newServer(t, r)
	running := travel(r, "get", "a", 0)
	ended := travel(r, "get", "b", 200)
	for _, tt := range []struct {
		journey, spec string
		code          int
		want          string
	}{
		{"p-9", `{"action":"next"}`, 404, "not found"},
		{running.ID(), `{"action":"next"}`, 409, "not held there"},
		{ended.ID(), `{"action":"next"}`, 409, "it has ended"},
		{running.ID(), `{"action":"jump"}`, 422, "spec.action: Unsupported value"},
		{running.ID(), `{"action":"next","step":-1}`, 422, "spec.step: Invalid value"},
		{running.ID(), `{"action":"fail"}`, 422, "spec.code: Invalid value"},
		{running.ID(), `{"action":"delay"}`, 422, "spec.delay: Required value"},
		{running.ID(), `{"action":"edit"}`, 422, "spec.patch: Required value"},
	} {
		code, body := send(t, "POST", server.URL+root+"/"+tt.journey+"/step", `{"spec":`+tt.spec+`}`)
		if code != tt.code || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d %s", tt.spec, code, body)
		}
	}
	if code, body := send(t, "POST", server.URL+root+"/"+running.ID()+"/step?dryRun=All", `{"spec":{"action":"next"}}`); code != 400 {
		t.Errorf("%d %s", code, body)
	}
}

// TestFollowHolds: who follows journeys hears that one is held, and that it goes on.
func TestFollowHolds(t *testing.T) {
	r := trace.NewRecorder("p", trace.DefaultLimits)
	server := newServer(t, r)
	if code, body := send(t, "POST", server.URL+breakpointsPath, `{"metadata":{"name":"a"},"spec":{"filter":"step:store.get"}}`); code != 201 {
		t.Fatal(body)
	}
	events := follow(t, server.URL+root+"?watch=true&filter=phase:held")
	done := make(chan struct{})
	go func() {
		defer close(done)
		travel(r, "get", "x", 200)
	}()
	expect(t, events, watch.Added, "p-1")
	if code, body := send(t, "POST", server.URL+root+"/p-1/step", `{"spec":{"action":"continue"}}`); code != 201 || !strings.Contains(body, `"touched":["Held"]`) {
		t.Errorf("%d %s", code, body)
	}
	e := <-events
	for e.Type == watch.Modified {
		e = <-events // it may have been held already when the watch began, and is told so again
	}
	if e.Type != watch.Deleted {
		t.Errorf("%+v", e)
	}
	<-done
}
