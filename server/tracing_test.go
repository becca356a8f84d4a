package server_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/authz"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/server/peertest"
)

// exporting has a server export to a collector so many of a million traces.
func exporting(t testing.TB, to *peertest.Collector, perMillion int) func(*options.Options) {
	file := to.File(t, perMillion)
	return func(o *options.Options) { o.TracingConfigFile = file }
}

const (
	tracedMaps = "/api/v1/namespaces/default/configmaps"
	newMap     = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"labels":{"traced":"yes"}}}`
	// aTrace and aSpan are those of a client.
	aTrace, aSpan = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
)

// traced sends a request and returns its journey, which has ended.
func (r *running) traced(t testing.TB, client *http.Client, method, path, body string, headers ...string) (int, *v1alpha1.Journey) {
	t.Helper()
	headers = append(headers, "Content-Type: application/json")
	res, _ := ask(t, client, method, r.URL+path, strings.NewReader(body), headers...)
	name := res.Header.Get("Kx-Journey")
	var j *v1alpha1.Journey
	until(t, "the journey ends", func() bool {
		j = r.journeyOf(t, name)
		return j.Status.Phase == v1alpha1.JourneyComplete
	})
	return res.StatusCode, j
}

// TestTracing has the spans of a request be its journey.
func TestTracing(t *testing.T) {
	t.Parallel()
	collector, hook := peertest.NewCollector(t), newReviewer(t)
	r := start(t, exporting(t, collector, 1_000_000))
	admin := r.httpClient(t)
	hook.admit(t, r, admin)
	for _, test := range []struct {
		method, path, body string
		code               int
		name               string
		failed             string // the step that fails
	}{
		{"POST", tracedMaps, fmt.Sprintf(newMap, "a"), 201, "POST /api/v1/namespaces/{:namespace}/configmaps", ""},
		{"GET", tracedMaps + "/a", "", 200, "GET /api/v1/namespaces/{:namespace}/configmaps/{:name}", ""},
		{"GET", tracedMaps + "/none?token=hidden", "", 404, "GET /api/v1/namespaces/{:namespace}/configmaps/{:name}", "store.get"},
		{"POST", tracedMaps, fmt.Sprintf(newMap, "a"), 409, "POST /api/v1/namespaces/{:namespace}/configmaps", "etcd3.create"},
		{"GET", "/apis/apps/v1/deployments?limit=5", "", 200, "GET /apis/apps/v1/deployments", ""},
		{"GET", "/version", "", 200, "GET", ""},
	} {
		code, j := r.traced(t, admin, test.method, test.path, test.body, "User-Agent: \xff\u202etraced")
		if code != test.code {
			t.Fatalf("%s %s: %d", test.method, test.path, code)
		}
		request, steps := collector.Journey(t, j.Name, len(j.Status.Steps))
		if request.Name != test.name || request.GetKind() != tracepb.Span_SPAN_KIND_SERVER || request.Parent != "" || request.Trace != j.Spec.TraceID || len(request.Trace) != 32 {
			t.Errorf("the span of %s is %q below %q in %s; the journey has %s", test.path, request.Name, request.Parent, request.Trace, j.Spec.TraceID)
		}
		path, _, _ := strings.Cut(test.path, "?")
		for key, want := range map[string]string{
			"http.request.method": test.method, "url.path": path, "http.target": j.Spec.URI, "http.response.status_code": strconv.Itoa(code),
			"user_agent.original": `\xff\u202etraced`, "audit-id": j.Spec.AuditID, "client.address": "127.0.0.1",
		} {
			if request.Attributes[key] != want {
				t.Errorf("%s: %s is %q, want %q", test.path, key, request.Attributes[key], want)
			}
		}
		if request.Resource["service.name"] != "apiserver" || !strings.HasPrefix(j.Name, request.Resource["service.instance.id"]+"-") {
			t.Errorf("the resource is %v", request.Resource)
		}
		sameSteps(t, j, request, steps)
		var failed []string
		for _, s := range steps {
			if s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
				failed = append(failed, s.Name)
			}
		}
		if test.failed == "" != (len(failed) == 0) || test.failed != "" && !slices.Contains(failed, test.failed) {
			t.Errorf("%s %s: the steps that failed are %v", test.method, test.path, failed)
		}
		var found v1alpha1.JourneyList
		r.kx(t, "GET", "journeys?filter="+url.QueryEscape("trace:"+request.Trace), nil, 200, &found)
		if len(found.Items) != 1 || found.Items[0].Name != j.Name {
			t.Errorf("the filter finds %d journeys of the trace", len(found.Items))
		}
	}
	if text := collector.Text(); strings.Contains(text, "hidden") {
		t.Error("a parameter that the API does not know was exported")
	}
	has := len(collector.Spans())
	until(t, "all spans of the collector are counted", func() bool {
		return int(r.metric(t, `kx_tracing_spans_total{result="exported"}`)) >= has
	})
}

// sameSteps compares spans with the steps of the journey.
func sameSteps(t *testing.T, j *v1alpha1.Journey, request peertest.Span, spans []peertest.Span) {
	t.Helper()
	if len(spans) != len(j.Status.Steps) {
		t.Fatalf("%d spans of %d steps", len(spans), len(j.Status.Steps))
	}
	ids := map[string]bool{request.ID: true}
	for i, step := range j.Status.Steps {
		span, parent := spans[i], request
		if step.Parent >= 0 {
			parent = spans[step.Parent]
		}
		if ids[span.ID] || len(span.ID) != 16 {
			t.Errorf("%s: the ID %q is taken, or none", step.ID, span.ID)
		}
		ids[span.ID] = true
		if span.Name != step.ID || span.Parent != parent.ID || span.GetStatus().GetMessage() != step.Error {
			t.Errorf("step %d is %s below %d with the error %q, and its span %s below %s with %q", i, step.ID, step.Parent, step.Error, span.Name, span.Parent, span.GetStatus().GetMessage())
		}
		for key, want := range map[string]string{
			"kx.layer": step.Layer, "kx.subject": step.Subject, "kx.why": step.Why, "code.function.name": step.Function, "code.file.path": step.File,
			"code.line.number": strconv.Itoa(int(step.Line)),
		} {
			if span.Attributes[key] != want {
				t.Errorf("%s: %s is %q, want %q", step.ID, key, span.Attributes[key], want)
			}
		}
		for _, a := range step.Attributes {
			if span.Attributes["kx."+a.Name] != a.Value {
				t.Errorf("%s: %s is %q, want %q", step.ID, a.Name, span.Attributes["kx."+a.Name], a.Value)
			}
		}
		begin, end := span.GetStartTimeUnixNano(), span.GetEndTimeUnixNano()
		if begin < parent.GetStartTimeUnixNano() || end < begin || end > parent.GetEndTimeUnixNano() || int64(end-begin) != step.TookNanos {
			t.Errorf("%s lasts from %d to %d within %d to %d, and took %d", step.ID, begin, end, parent.GetStartTimeUnixNano(), parent.GetEndTimeUnixNano(), step.TookNanos)
		}
	}
}

// metric is the value of a line of /metrics.
func (r *running) metric(t testing.TB, name string) float64 {
	t.Helper()
	_, body := ask(t, r.httpClient(t), "GET", r.URL+"/metrics", nil)
	for line := range strings.Lines(string(body)) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			must(t, err)
			return value
		}
	}
	t.Fatalf("/metrics has no %s", name)
	return 0
}

// TestTracingMarks: what the watch cache did with a write, and what was done to a request, are events.
func TestTracingMarks(t *testing.T) {
	t.Parallel()
	collector := peertest.NewCollector(t)
	r := start(t, exporting(t, collector, 1_000_000), func(o *options.Options) { o.Allow.Faults, o.WatchCache.Prefill = options.Always, true })
	admin := r.httpClient(t)
	until(t, "the server is ready", func() bool {
		res, _ := ask(t, admin, "GET", r.URL+"/readyz", nil)
		return res.StatusCode == http.StatusOK
	})
	n := 0
	until(t, "a create is exported with the marks of its event", func() bool {
		n++
		_, j := r.traced(t, admin, "POST", tracedMaps, fmt.Sprintf(newMap, fmt.Sprint("m-", n)))
		request, _ := collector.Journey(t, j.Name, len(j.Status.Steps))
		var names []string
		for _, e := range request.GetEvents() {
			names = append(names, e.GetName())
			attributes := peertest.Texts(e.GetAttributes())
			if e.GetTimeUnixNano() < request.GetStartTimeUnixNano() || attributes["kx.revision"] != strconv.FormatInt(j.Status.Revision, 10) || attributes["code.file.path"] == "" {
				t.Errorf("an event at %d: %v", e.GetTimeUnixNano(), attributes)
			}
		}
		return slices.Contains(names, "cacher.reflect") && slices.Contains(names, "cacher.process-event") // marks may be later than the export
	})

	r.kx(t, "POST", "faults", &v1alpha1.Fault{ObjectMeta: named("broken"), Spec: v1alpha1.FaultSpec{Filter: "step:etcd.txn agent:unlucky", Effect: v1alpha1.FaultFail, Code: 503}}, 201, nil)
	_, j := r.traced(t, admin, "POST", tracedMaps, fmt.Sprintf(newMap, "unlucky"), "User-Agent: unlucky")
	_, steps := collector.Journey(t, j.Name, len(j.Status.Steps))
	i := slices.IndexFunc(steps, func(s peertest.Span) bool { return s.Name == "etcd.txn" })
	if i < 0 || len(steps[i].GetEvents()) != 1 || steps[i].GetEvents()[0].GetName() != "kx.failed" || steps[i].GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("the injected error is not to be told from a real one: %v", steps)
	}
}

// TestTracingContext: who is believed is in the client's trace, and whoever is not begins one.
func TestTracingContext(t *testing.T) {
	t.Parallel()
	collector := peertest.NewCollector(t)
	r := start(t, exporting(t, collector, 1_000_000),
		tokens(t, "ann,ann,1\nmonitor,prometheus,2,\"system:monitoring\"\n"))
	parent := func(flags string) string { return "Traceparent: 00-" + aTrace + "-" + aSpan + "-" + flags }
	for _, test := range []struct {
		name   string
		client *http.Client
		header string
		export bool // or nothing is
		joined bool // or the trace begins here
		linked bool
	}{
		{"an administrator", r.httpClient(t), parent("01"), true, true, false},
		{"an administrator, unsampled", r.httpClient(t), parent("00"), false, false, false},
		{"a monitor", r.tokenClient(t, "monitor"), parent("01"), true, true, false},
		{"anybody", r.tokenClient(t, "ann"), parent("01"), true, false, true},
		{"anybody, unsampled", r.tokenClient(t, "ann"), parent("00"), true, false, true},
		{"nobody", r.anyone(t), parent("01"), true, false, true},
		{"no header", r.httpClient(t), "X: y", true, false, false},
		{"no span", r.httpClient(t), "Traceparent: 00-" + aTrace + "-0000000000000000-01", true, false, false},
		{"no trace", r.httpClient(t), "Traceparent: " + strings.Repeat("x", 5000), true, false, false},
	} {
		_, j := r.traced(t, test.client, "GET", tracedMaps, "", test.header, "Tracestate: vendor=opaque")
		if !test.export {
			if j.Spec.TraceID != "" {
				t.Errorf("%s: it is in the trace %s", test.name, j.Spec.TraceID)
			}
			continue
		}
		request, steps := collector.Journey(t, j.Name, len(j.Status.Steps))
		const remote = uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
		state := ""
		if test.joined {
			state = "vendor=opaque"
		}
		if joined := request.Trace == aTrace && request.Parent == aSpan; joined != test.joined || (request.Parent == "") == test.joined || (request.GetFlags()&remote != 0) != test.joined {
			t.Errorf("%s: the span is below %q in %s", test.name, request.Parent, request.Trace)
		}
		if request.GetTraceState() != state || steps[0].GetTraceState() != state || steps[0].Trace != request.Trace || steps[0].GetFlags()&remote != 0 {
			t.Errorf("%s: the state is %q and %q", test.name, request.GetTraceState(), steps[0].GetTraceState())
		}
		linked := len(request.GetLinks()) == 1 && hex.EncodeToString(request.GetLinks()[0].GetTraceId()) == aTrace && hex.EncodeToString(request.GetLinks()[0].GetSpanId()) == aSpan
		if linked != test.linked {
			t.Errorf("%s: the links are %v", test.name, request.GetLinks())
		}
	}
	for _, s := range collector.Spans() {
		if s.Trace == aTrace && s.GetFlags()&1 == 0 {
			t.Errorf("a span of an unsampled request was exported: %s", s.Name)
		}
	}
}

// TestTracingSampling: a ratio of the traces that begin here, decided by their IDs, and all those of clients that sample.
func TestTracingSampling(t *testing.T) {
	t.Parallel()
	const sampled = "Traceparent: 00-" + aTrace + "-" + aSpan + "-01"
	collector := peertest.NewCollector(t)
	unset := peertest.File(t, "apiVersion: apiserver.config.k8s.io/v1beta1\nkind: TracingConfiguration\nendpoint: "+collector.Address+"\n")
	for _, edit := range []func(*options.Options){exporting(t, collector, 0), func(o *options.Options) { o.TracingConfigFile = unset }} {
		r := start(t, edit)
		admin := r.httpClient(t)
		for range 20 {
			if _, j := r.traced(t, admin, "GET", "/version", ""); j.Spec.TraceID != "" {
				t.Errorf("a trace began: %s", j.Spec.TraceID)
			}
		}
		_, j := r.traced(t, admin, "GET", "/version", "", sampled)
		collector.Journey(t, j.Name, len(j.Status.Steps))
	}
	for _, s := range collector.Spans() {
		if s.Trace != aTrace {
			t.Errorf("a trace began: %s", s.Name)
		}
	}

	r := start(t, exporting(t, collector, 250_000))
	admin := r.httpClient(t)
	var exported []*v1alpha1.Journey
	for range 200 {
		_, j := r.traced(t, admin, "GET", "/version", "")
		if j.Spec.TraceID == "" {
			continue
		}
		exported = append(exported, j)
		low, err := strconv.ParseUint(j.Spec.TraceID[16:], 16, 64)
		must(t, err)
		if low>>1 >= 1<<61 { // a quarter of 2⁶³
			t.Errorf("the trace %s is not among the first quarter", j.Spec.TraceID)
		}
	}
	for _, j := range exported {
		collector.Journey(t, j.Name, len(j.Status.Steps))
	}
	if len(exported) == 0 || len(exported) > 120 {
		t.Errorf("%d of 200 traces were exported", len(exported))
	}
}

// reviewer is a server that is asked by webhooks and as an API server, allows all, and keeps how it was asked.
type reviewer struct {
	*httptest.Server

	mu      sync.Mutex
	headers map[string]http.Header // the latest, by path
}

func newReviewer(t *testing.T) *reviewer {
	t.Helper()
	v := &reviewer{headers: map[string]http.Header{}}
	v.Server = httptest.NewUnstartedServer(v)
	v.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug) // clients that close connections are part of tests
	v.StartTLS()
	t.Cleanup(v.Close)
	return v
}

func (v *reviewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Remote-User") != "system:kube-aggregator" { // that is who looks, again and again, whether it is there
		v.mu.Lock()
		v.headers[r.URL.Path] = r.Header.Clone()
		v.mu.Unlock()
	}
	var review map[string]any
	_ = json.NewDecoder(r.Body).Decode(&review) // of a GET there is none
	request, _ := review["request"].(map[string]any)
	response := map[string]any{"uid": request["uid"]}
	switch r.URL.Path {
	case "/admit":
		response["allowed"] = true
	case "/convert":
		objects := request["objects"].([]any)
		for _, o := range objects {
			o.(map[string]any)["apiVersion"] = request["desiredAPIVersion"]
		}
		response["convertedObjects"], response["result"] = objects, map[string]any{"status": "Success"}
	case "/authorize":
		review["status"] = map[string]any{"allowed": true}
	default:
		review = map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": farVersion.String(), "resources": []any{}}
	}
	if request != nil {
		delete(review, "request")
		review["response"] = response
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// asked is how the latest request of a path asked, which is forgotten.
func (v *reviewer) asked(path string) http.Header {
	v.mu.Lock()
	defer v.mu.Unlock()
	defer delete(v.headers, path)
	return v.headers[path]
}

// config is a client's way to a path.
func (v *reviewer) config(path string) map[string]any {
	return map[string]any{"url": v.URL + path, "caBundle": v.ca()}
}

func (v *reviewer) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: v.Certificate().Raw})
}

// admit has a server ask about new config maps with the label traced, and waits until it does.
func (v *reviewer) admit(t *testing.T, r *running, admin *http.Client) {
	t.Helper()
	hook := map[string]any{
		"name": "a.example.com", "admissionReviewVersions": []string{"v1"}, "sideEffects": "None", "clientConfig": v.config("/admit"),
		"objectSelector": map[string]any{"matchLabels": map[string]any{"traced": "yes"}},
		"rules":          []any{map[string]any{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "operations": []string{"CREATE"}, "resources": []string{"configmaps"}}},
	}
	r.post(t, admin, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": named("a"), "webhooks": []any{hook},
	})
	until(t, "the webhook is asked", func() bool {
		ask(t, admin, "POST", r.URL+tracedMaps+"?dryRun=All", strings.NewReader(fmt.Sprintf(newMap, "dry")), "Content-Type: application/json")
		return v.asked("/admit") != nil
	})
}

func (r *running) post(t *testing.T, client *http.Client, path string, object any) {
	t.Helper()
	body, err := json.Marshal(object)
	must(t, err)
	if res, answer := ask(t, client, "POST", r.URL+path, bytes.NewReader(body), "Content-Type: application/json"); res.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", res.StatusCode, answer)
	}
}

// kubeconfig is a file that reaches a path.
func (v *reviewer) kubeconfig(t *testing.T, path string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": v.URL + path, "certificate-authority-data": v.ca()}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "u"}}},
	})
	must(t, err)
	must(t, os.WriteFile(file, text, 0o600))
	return file
}

const convertedTabs = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"tabs.stable.example.com"},
 "spec":{"group":"stable.example.com","scope":"Namespaced","names":{"plural":"tabs","singular":"tab","kind":"Tab"},
  "conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":%s}},
  "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}},
   {"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`

// TestTracingOnward: whoever the server asks gets the trace, below the step that asks.
func TestTracingOnward(t *testing.T) {
	t.Parallel()
	collector, v := peertest.NewCollector(t), newReviewer(t)
	etcd := tracedEtcd(t, collector)
	edits := []func(*options.Options){tokens(t, "ann,ann,1\n"), func(o *options.Options) {
		o.Authorization.Modes = []string{authz.RBAC, authz.WebhookMode}
		o.Authorization.Webhook.File, o.Authorization.Webhook.Version = v.kubeconfig(t, "/authorize"), "v1"
	}}
	r := start(t, append(edits, exporting(t, collector, 1_000_000), func(o *options.Options) { o.Etcd.Servers = []string{etcd} })...)
	silent := start(t, edits...) // without the flag
	crd, err := json.Marshal(v.config("/convert"))
	must(t, err)
	for _, s := range []*running{r, silent} {
		admin := s.httpClient(t)
		v.admit(t, s, admin)
		s.post(t, admin, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json.RawMessage(fmt.Sprintf(convertedTabs, crd)))
		until(t, "the definition is served", func() bool {
			res, _ := ask(t, admin, "POST", s.URL+"/apis/stable.example.com/v1/namespaces/default/tabs", strings.NewReader(`{"apiVersion":"stable.example.com/v1","kind":"Tab","metadata":{"name":"t"}}`), "Content-Type: application/json")
			return res.StatusCode == http.StatusCreated
		})
		s.register(t, v.URL)
		s.available(t, "Passed")
	}

	const sampled, unsampled, state = "00-" + aTrace + "-" + aSpan + "-01", "00-" + aTrace + "-" + aSpan + "-00", "vendor=opaque"
	ways := []struct {
		name, step, asked  string
		anybody            bool // who is not believed
		method, path, body string
	}{
		{"an admission webhook", "handler.webhook", "/admit", false, "POST", tracedMaps + "?dryRun=All", fmt.Sprintf(newMap, "w")},
		{"a conversion webhook", "crd.webhook", "/convert", false, "GET", "/apis/stable.example.com/v2/namespaces/default/tabs/t", ""},
		{"an API server", "handler.aggregate", "/apis/far.example.com/v1", false, "GET", "/apis/far.example.com/v1", ""},
		{"an authorizer", "filter.authorization", "/authorize", true, "GET", tracedMaps + "/1", ""},
		{"an API server for anybody", "handler.aggregate", "/apis/far.example.com/v1/namespaces/default/stars", true, "GET", "/apis/far.example.com/v1/namespaces/default/stars", ""},
	}
	for i, way := range ways {
		// The authorizer remembers its answers.
		path := func(n int) string {
			return strings.Replace(way.path, "/configmaps/1", fmt.Sprint("/configmaps/", i, "-", n), 1)
		}
		clientOf := func(s *running) *http.Client {
			if way.anybody {
				return s.tokenClient(t, "ann")
			}
			return s.httpClient(t)
		}
		send := func(s *running, n int, headers ...string) (*v1alpha1.Journey, http.Header) {
			v.asked(way.asked)
			_, j := s.traced(t, clientOf(s), way.method, path(n), way.body, headers...)
			header := v.asked(way.asked)
			if header == nil {
				t.Errorf("%s was not asked", way.name)
			}
			return j, header
		}
		j, header := send(r, 1, "Traceparent: "+sampled, "Tracestate: "+state)
		request, steps := collector.Journey(t, j.Name, len(j.Status.Steps))
		k := slices.IndexFunc(steps, func(s peertest.Span) bool { return s.Name == way.step })
		if k < 0 {
			t.Fatalf("%s: there is no span %s", way.name, way.step)
		}
		want, wantState := "00-"+request.Trace+"-"+steps[k].ID+"-01", state
		if way.anybody {
			wantState = ""
		}
		if got := header.Get("Traceparent"); got != want || header.Get("Tracestate") != wantState || (request.Trace == aTrace) == way.anybody {
			t.Errorf("%s got %q %q, want %q %q", way.name, got, header.Get("Tracestate"), want, wantState)
		}
		if !way.anybody {
			j, header = send(r, 2, "Traceparent: "+unsampled)
			if got := header.Get("Traceparent"); !strings.HasPrefix(got, "00-"+aTrace+"-") || !strings.HasSuffix(got, "-00") || strings.Contains(got, aSpan) || j.Spec.TraceID != "" {
				t.Errorf("%s of an unsampled trace got %q", way.name, got)
			}
		}
		// What is not recorded, and a server that exports nothing, are as if they were not there.
		v.asked(way.asked)
		ask(t, clientOf(r), way.method, r.URL+path(3), strings.NewReader(way.body), "Content-Type: application/json", "Kx-Trace: off", "Traceparent: "+sampled, "Tracestate: "+state)
		if header = v.asked(way.asked); header.Get("Traceparent") != sampled || header.Get("Tracestate") != state {
			t.Errorf("%s of a request that is not recorded got %q %q", way.name, header.Get("Traceparent"), header.Get("Tracestate"))
		}
		if _, header = send(silent, 4, "Traceparent: "+sampled, "Tracestate: "+state); header.Get("Traceparent") != sampled || header.Get("Tracestate") != state {
			t.Errorf("%s of a server without the flag got %q %q", way.name, header.Get("Traceparent"), header.Get("Tracestate"))
		}
		if _, header = send(silent, 5); header.Get("Traceparent") != "" {
			t.Errorf("%s of a server without the flag got %q", way.name, header.Get("Traceparent"))
		}
	}

	// etcd's own spans are below those of the steps that ask it.
	_, j := r.traced(t, r.httpClient(t), "POST", tracedMaps, fmt.Sprintf(newMap, "kept"))
	_, steps := collector.Journey(t, j.Name, len(j.Status.Steps))
	i := slices.IndexFunc(steps, func(s peertest.Span) bool { return s.Name == "etcd.txn" })
	collector.Wait(t, "the span of etcd's transaction", func(all []peertest.Span) bool {
		return slices.ContainsFunc(all, func(s peertest.Span) bool {
			return s.Resource["service.name"] == "etcd" && s.Trace == steps[i].Trace && s.Parent == steps[i].ID
		})
	})
}
