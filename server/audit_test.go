package server_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
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
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/audit"
	"github.com/kx-apiserver/kx/server/options"
)

// policyFile writes an audit policy.
func policyFile(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	must(t, os.WriteFile(file, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\n"+text), 0o600))
	return file
}

// auditing has a server log by a policy into a file, whose name it returns.
func auditing(t testing.TB, policy string) (file string, edit func(*options.Options)) {
	t.Helper()
	file, policy = filepath.Join(t.TempDir(), "audit.log"), policyFile(t, policy)
	return file, func(o *options.Options) { o.Audit.Log.Path, o.Audit.PolicyFile = file, policy }
}

// auditedBy returns the events of a request, by the user agent that it had.
func auditedBy(t testing.TB, file, agent string) (events []auditv1.Event) {
	t.Helper()
	for _, e := range audited(t.(*testing.T), file) {
		if e.UserAgent == agent {
			events = append(events, e)
		}
	}
	return events
}

const everythingPolicy = `
omitManagedFields: true
rules:
- {level: None, nonResourceURLs: [/healthz*, /version]}
- {level: Metadata, nonResourceURLs: ["/api*"], omitStages: [RequestReceived]}
- {level: None, users: [bob], verbs: [get]}
- {level: Metadata, userGroups: [quiet], omitStages: [RequestReceived, ResponseComplete]}
- {level: Request, namespaces: [kept], resources: [{group: "", resources: [configmaps], resourceNames: [special]}], omitStages: [RequestReceived]}
- {level: RequestResponse, namespaces: [kept], omitManagedFields: false, omitStages: [RequestReceived], resources: [{group: "", resources: ["*"]}]}
- {level: RequestResponse, resources: [{group: "", resources: [configmaps, "pods/*"]}, {group: audited.example.com}], omitStages: [RequestReceived]}
- {level: Metadata, resources: [{group: "", resources: [secrets, serviceaccounts/token, componentstatuses]}]}
`

// TestAuditPolicy: each kind of rule decides about the requests that it names, and each stage is there or not as it says.
func TestAuditPolicy(t *testing.T) {
	t.Parallel()
	file, edit := auditing(t, everythingPolicy)
	r, stop, err := launch(tokens(t, "ann,ann,1,quiet\nbob,bob,2\n"), edit)
	must(t, err)
	crd := cronTab("audited.example.com")
	old := *crd.Spec.Versions[0].DeepCopy()
	old.Name, old.Storage, old.Deprecated = "v1beta1", false, true
	crd.Spec.Versions = append(crd.Spec.Versions, old)
	r.define(t, crd)
	const config = "/api/v1/namespaces/default/configmaps"
	tests := []struct {
		who, method, path, body string
		want                    string // of each event: stage, level, code, whether it has a request and a response
	}{
		{"admin", "GET", "/healthz", "", ""},
		{"admin", "GET", "/version", "", ""},
		{"admin", "GET", "/api", "", "ResponseComplete Metadata 200 - -"},
		{"admin", "GET", "/apis/apps", "", "ResponseComplete Metadata 200 - -"},
		{"admin", "GET", "/openapi/v2", "", ""},                                       // no rule is about it
		{"bob", "GET", config, "", "ResponseComplete RequestResponse 403 - response"}, // a list
		{"bob", "GET", config + "/a", "", ""},
		{"ann", "GET", config + "/a", "", ""}, // both stages are omitted
		{"ann", "POST", config, `{"metadata":{"name":"x"}}`, ""},
		{"nobody", "GET", config, "", "ResponseStarted RequestResponse 401 - response"},
		{"admin", "POST", config, `{"metadata":{"name":"a"},"data":{"k":"v"}}`, "ResponseComplete RequestResponse 201 request response"},
		{"admin", "POST", "/api/v1/namespaces", `{"metadata":{"name":"kept"}}`, ""},
		{"admin", "POST", "/api/v1/namespaces/kept/configmaps", `{"metadata":{"name":"special"}}`, "ResponseComplete RequestResponse 201 request response"}, // its path has no name
		{"admin", "PUT", "/api/v1/namespaces/kept/configmaps/special", `{"metadata":{"name":"special"}}`, "ResponseComplete Request 200 request -"},
		{"admin", "GET", "/api/v1/namespaces/kept/configmaps/other", "", "ResponseComplete RequestResponse 404 - response"},
		{"admin", "POST", "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"s"},"stringData":{"k":"hidden"}}`,
			"RequestReceived Metadata - - -, ResponseComplete Metadata 201 - -"},
		{"admin", "GET", "/api/v1/namespaces/default/secrets?watch=1&timeoutSeconds=1", "",
			"RequestReceived Metadata - - -, ResponseStarted Metadata 200 - -, ResponseComplete Metadata 200 - -"},
		{"admin", "GET", config + "?watch=1&timeoutSeconds=1", "", "ResponseStarted RequestResponse 200 - -, ResponseComplete RequestResponse 200 - -"},
		{"admin", "GET", config + "?watch=1&labelSelector=!", "", "ResponseStarted RequestResponse 400 - response, ResponseComplete RequestResponse 400 - response"},
		{"admin", "GET", config + "?timeout=soon", "", "ResponseStarted RequestResponse 400 - response"},
		{"admin", "GET", config + "?timeout=1ns", "", "ResponseStarted RequestResponse 504 - response"},
		{"admin", "GET", "/api/v1/namespaces/default/pods/none/log", "", "ResponseStarted RequestResponse 404 - response, ResponseComplete RequestResponse 404 - response"},
		{"admin", "GET", "/api/v1/componentstatuses/etcd-0", "", "RequestReceived Metadata - - -, ResponseComplete Metadata 200 - -"},
		{"admin", "GET", "/apis/audited.example.com/v1/crontabs", "", "ResponseComplete RequestResponse 200 - response"},
		{"admin", "GET", "/apis/audited.example.com/v1beta1/crontabs", "", "ResponseComplete RequestResponse 200 - response"},
	}
	for i, tc := range tests {
		client := r.httpClient(t)
		switch tc.who {
		case "nobody":
			client = r.tokenClient(t, "not-a-token")
		case "ann", "bob":
			client = r.tokenClient(t, tc.who)
		}
		ask(t, client, tc.method, r.URL+tc.path, strings.NewReader(tc.body), "Content-Type: application/json", fmt.Sprintf("User-Agent: test-%d", i))
	}
	for labels, want := range map[string]float64{
		`{group="",removed_release="",resource="componentstatuses",subresource="",version="v1"}`:                1,
		`{group="audited.example.com",removed_release="",resource="crontabs",subresource="",version="v1beta1"}`: 1,
		`{group="audited.example.com",removed_release="",resource="crontabs",subresource="",version="v1"}`:      0,
	} {
		if n := r.figure(t, "apiserver_requested_deprecated_apis"+labels); n != want {
			t.Errorf("the metric of deprecated APIs has %v%s", n, labels)
		}
	}
	must(t, stop())
	for i, tc := range tests {
		var got []string
		for _, e := range auditedBy(t, file, fmt.Sprintf("test-%d", i)) {
			code, request, response := "-", "-", "-"
			if e.ResponseStatus != nil {
				code = fmt.Sprint(e.ResponseStatus.Code)
			}
			if e.RequestObject != nil {
				request = "request"
			}
			if e.ResponseObject != nil {
				response = "response"
			}
			got = append(got, fmt.Sprintf("%s %s %s %s %s", e.Stage, e.Level, code, request, response))
			received := e.Stage == auditv1.StageRequestReceived
			if e.AuditID == "" || e.StageTimestamp.IsZero() || received != e.StageTimestamp.Equal(&e.RequestReceivedTimestamp) || len(e.SourceIPs) != 1 {
				t.Errorf("%s %s as %s: %+v", tc.method, tc.path, tc.who, e)
			}
			wantAnnotations(t, e, tc.who, received)
		}
		if got := strings.Join(got, ", "); got != tc.want {
			t.Errorf("%s %s as %s\nhas  %s\nwant %s", tc.method, tc.path, tc.who, got, tc.want)
		}
	}
	text, err := os.ReadFile(file)
	must(t, err)
	for _, secret := range []string{"hidden", "not-a-token"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

// wantAnnotations wants the annotations that each event of an authorized request has, and those of a deprecated kind or version.
func wantAnnotations(t *testing.T, e auditv1.Event, who string, received bool) {
	t.Helper()
	decision, reason := e.Annotations["authorization.k8s.io/decision"], e.Annotations["authorization.k8s.io/reason"]
	want := "allow"
	switch {
	case received, who == "nobody", e.ResponseStatus.Code == 504, strings.Contains(e.RequestURI, "timeout=soon"):
		want = ""
	case who != "admin":
		want = "forbid"
	}
	if decision != want || who == "admin" && reason != "" {
		t.Errorf("%s %s as %s: the decision is %q, %q", e.Verb, e.RequestURI, who, decision, reason)
	}
	old := strings.Contains(e.RequestURI, "componentstatuses") || strings.Contains(e.RequestURI, "v1beta1")
	if deprecated := e.Annotations["k8s.io/deprecated"] == "true"; deprecated != (!received && old) {
		t.Errorf("%s %s: annotations %v", e.Verb, e.RequestURI, e.Annotations)
	}
	// The watch that was answered lasts a second, and on a busy machine others may take long, too.
	slow, complete := e.Annotations["apiserver.latency.k8s.io/total"] != "", e.Stage == auditv1.StageResponseComplete
	watched := complete && e.Verb == "watch" && e.ResponseStatus.Code == 200
	if watched && !slow || slow && !complete {
		t.Errorf("%s %s: annotations %v", e.Verb, e.RequestURI, e.Annotations)
	}
}

// TestAuditBodies: what is sent and answered is in the log at level RequestResponse, in each form, for resources of both sorts. Fields'
// managers are left out or there as the rule says.
func TestAuditBodies(t *testing.T) {
	t.Parallel()
	file, edit := auditing(t, everythingPolicy)
	r, stop, err := launch(edit)
	must(t, err)
	r.define(t, cronTab("audited.example.com"))
	_, err = r.admin(t).CoreV1().Namespaces().Create(within(t), &corev1.Namespace{ObjectMeta: named("kept")}, metav1.CreateOptions{})
	must(t, err)
	const table, partial = "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	const partials = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
	type request struct{ method, path, contentType, accept, body, sent, answered string }
	requests := func(collection, apiVersion, kind, field string) []request {
		object := func(more string) string {
			return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"a"%s},%q:{"cronSpec":"x"}}`, apiVersion, kind, more, field)
		}
		a, merge := collection+"/a", "application/merge-patch+json"
		return []request{
			{"POST", collection, "", "", object(""), `"name":"a"`, `"uid":`},
			{"PUT", a, "", "", object(`,"resourceVersion":"$now","managedFields":[{"manager":"x","operation":"Update","apiVersion":"` + apiVersion + `","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{}}}]`), `"cronSpec":"x"`, `"uid":`},
			{"PATCH", a, merge, "", `{"metadata":{"labels":{"l":"m"}}}`, `{"metadata":{"labels":{"l":"m"}}}`, `"l":"m"`},
			{"PATCH", a + "?fieldManager=f", "application/apply-patch+yaml", "", object(`,"labels":{"b":"c"}`), `"b":"c"`, `"b":"c"`},
			{"GET", a, "", "", "", "", `"l":"m"`},
			{"GET", a, "", table, "", "", `"kind":"Table"`},
			{"GET", a + "?includeObject=Object", "", table, "", "", `"cronSpec":"x"`},
			{"GET", a, "", partial, "", "", `"kind":"PartialObjectMetadata"`},
			{"PATCH", a, merge, table, `{"metadata":{"labels":{"l":"n"}}}`, `"l":"n"`, `"kind":"Table"`},
			{"GET", collection, "", "", "", "", `"l":"n"`},
			{"GET", collection, "", table, "", "", `"kind":"Table"`},
			{"GET", collection + "?includeObject=Object", "", table, "", "", `"cronSpec":"x"`},
			{"GET", collection, "", partials, "", "", `"kind":"PartialObjectMetadataList"`},
			{"DELETE", a, "", "", `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}`, `"propagationPolicy":"Background"`, `"Success"`},
			{"POST", collection, "", "", object(""), `"name":"a"`, `"uid":`},
			{"DELETE", collection, "", "", `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Orphan"}`, `"propagationPolicy":"Orphan"`, `"name":"a"`},
		}
	}
	all := map[string][]request{
		"omitted":         requests("/api/v1/namespaces/default/configmaps", "v1", "ConfigMap", "data"),
		"kept":            requests("/api/v1/namespaces/kept/configmaps", "v1", "ConfigMap", "data"),
		"omitted, custom": requests("/apis/audited.example.com/v1/namespaces/default/crontabs", "audited.example.com/v1", "CronTab", "spec"),
	}
	client := r.httpClient(t)
	for name, requests := range all {
		for i, q := range requests {
			headers := []string{fmt.Sprintf("User-Agent: %s %d", name, i), "Content-Type: " + "application/json"}
			if q.contentType != "" {
				headers[1] = "Content-Type: " + q.contentType
			}
			if q.accept != "" {
				headers = append(headers, "Accept: "+q.accept)
			}
			if strings.Contains(q.body, "$now") {
				var now metav1.PartialObjectMetadata
				_, body := ask(t, client, "GET", r.URL+q.path, nil)
				must(t, json.Unmarshal(body, &now))
				q.body = strings.Replace(q.body, "$now", now.ResourceVersion, 1)
			}
			res, body := ask(t, client, q.method, r.URL+q.path, strings.NewReader(q.body), headers...)
			if res.StatusCode >= 300 {
				t.Errorf("%s: %s %s: %s %s", name, q.method, q.path, res.Status, body)
			}
		}
	}
	must(t, stop())
	for name, requests := range all {
		for i, q := range requests {
			events := auditedBy(t, file, fmt.Sprintf("%s %d", name, i))
			if len(events) != 1 {
				t.Errorf("%s: %s %s has %d events", name, q.method, q.path, len(events))
				continue
			}
			e, sent, answered := events[0], "", ""
			if e.RequestObject != nil {
				sent = string(e.RequestObject.Raw)
			}
			if e.ResponseObject != nil {
				answered = string(e.ResponseObject.Raw)
			}
			if !strings.Contains(sent, q.sent) || q.sent == "" && sent != "" || !strings.Contains(answered, q.answered) {
				t.Errorf("%s: %s %s as %s has\nthe request  %s\nthe response %s", name, q.method, q.path, q.accept, sent, answered)
			}
			// A whole object has managers, unless it is left out what they are, and a Status has none.
			managed := strings.Contains(sent+answered, "managedFields")
			if want := name == "kept" && !strings.Contains(answered, `"kind":"Status"`); managed != want {
				t.Errorf("%s: %s %s as %s: has managers %v: %s %s", name, q.method, q.path, q.accept, managed, sent, answered)
			}
		}
	}
}

// collector is a webhook that keeps the events that it gets, and misbehaves when it is told to.
type collector struct {
	*httptest.Server
	file string // a kubeconfig

	mu     sync.Mutex
	events []auditv1.Event
	calls  int
	answer func(w http.ResponseWriter, r *http.Request) bool // whether it misbehaved
}

func collect(t testing.TB) *collector {
	t.Helper()
	c := &collector{file: filepath.Join(t.TempDir(), "webhook.yaml")}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var list auditv1.EventList
		err := json.NewDecoder(r.Body).Decode(&list)
		c.mu.Lock()
		c.calls++
		answer := c.answer
		c.mu.Unlock()
		if answer != nil && answer(w, r) {
			return
		}
		if err != nil || list.Kind != "EventList" || list.APIVersion != "audit.k8s.io/v1" {
			t.Errorf("the webhook got %+v: %v", list, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.events = append(c.events, list.Items...)
	}))
	t.Cleanup(c.Close)
	must(t, os.WriteFile(c.file, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "%s/audit"}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x`, c.URL), 0o600))
	return c
}

func (c *collector) misbehave(how func(http.ResponseWriter, *http.Request) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = how
}

// names are those of the config maps in the events that it has.
func (c *collector) names() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if e.ObjectRef != nil && e.ObjectRef.Resource == "configmaps" {
			names = append(names, e.ObjectRef.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (c *collector) called() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// figure is the value of one series in /metrics, 0 if there is none.
func (r *running) figure(t testing.TB, series string) float64 {
	t.Helper()
	_, body := ask(t, r.httpClient(t), "GET", r.URL+"/metrics", nil)
	for line := range strings.Lines(string(body)) {
		if text, ok := strings.CutPrefix(line, series+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			must(t, err)
			return value
		}
	}
	return 0
}

// configMapsPolicy is about config maps alone, so that nothing else is in a batch.
const configMapsPolicy = "rules: [{level: Metadata, verbs: [get, create], resources: [{group: '', resources: [configmaps]}]}]\n"

// sending has a server send events to a webhook.
func sending(t testing.TB, c *collector, edit func(*options.Options)) func(*options.Options) {
	policy := policyFile(t, configMapsPolicy)
	return func(o *options.Options) {
		o.Audit.PolicyFile, o.Audit.Webhook.File = policy, c.file
		o.Audit.Webhook.InitialBackoff, o.Audit.Webhook.BatchMaxWait = time.Millisecond, time.Millisecond
		edit(o)
	}
}

// getConfigMap asks for a config map that there is not, and returns the answer's code.
func (r *running) getConfigMap(t testing.TB, name string) int {
	t.Helper()
	res, _ := ask(t, r.httpClient(t), "GET", r.URL+"/api/v1/namespaces/default/configmaps/"+name+"?token=tell-nobody", nil)
	return res.StatusCode
}

// TestAuditWebhook: events reach a webhook, without tokens, also after it was broken for a while. Requests do not wait for it.
func TestAuditWebhook(t *testing.T) {
	t.Parallel()
	c := collect(t)
	text := &log{}
	r, stop, err := launchLogging(slog.New(slog.NewTextHandler(text, nil)), nil, sending(t, c, func(o *options.Options) {
		o.Audit.Webhook.BufferSize, o.Audit.Webhook.BatchMaxSize = 8, 1
	}))
	must(t, err)
	t.Cleanup(func() { must(t, stop()) })
	r.getConfigMap(t, "first")
	until(t, "both stages of the first request are sent", func() bool { return len(c.names()) == 2 })

	c.misbehave(func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "the webhook's own secret", http.StatusInternalServerError)
		return true
	})
	before := c.called()
	r.getConfigMap(t, "failing")
	lost := `apiserver_audit_error_total{plugin="webhook"}`
	until(t, "events are given up after five attempts each", func() bool { return r.figure(t, lost) == 2 })
	if calls := c.called() - before; calls != 5 && calls != 10 {
		t.Errorf("a failing webhook was called %d times", calls)
	}

	held := make(chan struct{})
	c.misbehave(func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-held:
		case <-r.Context().Done():
		}
		return false
	})
	for i := range 60 {
		if code := r.getConfigMap(t, fmt.Sprint("held-", i)); code != 404 {
			t.Errorf("while the webhook hangs: %d", code)
		}
	}
	dropped := r.figure(t, `apiserver_audit_error_total{plugin="buffered"}`)
	if dropped < 120-8-1-32 || dropped > 120-8 { // eight wait, one is next, and as many as 32 are on their way
		t.Errorf("of 120 events for a webhook that hangs %v are lost", dropped)
	}
	close(held)
	c.misbehave(nil)
	// On a busy machine a call that hung may have been given up, or its event sent twice.
	until(t, "what waited is sent", func() bool { return len(c.names())+int(r.figure(t, lost))-2 >= 2+120-int(dropped) })
	r.getConfigMap(t, "last")
	until(t, "the last request is sent", func() bool { return slices.Contains(c.names(), "last") })

	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if strings.Contains(e.RequestURI, "tell-nobody") {
			t.Errorf("a token was sent: %s", e.RequestURI)
		}
	}
	said := text.String()
	if n := strings.Count(said, "audit events were lost"); n == 0 || n > 6 || strings.Contains(said, "own secret") {
		t.Errorf("the log has %d lines about losses:\n%s", n, said)
	}
	for _, name := range []string{"apiserver_audit_event_total", `apiserver_audit_level_total{level="Metadata"}`, `apiserver_audit_level_total{level="None"}`} {
		if r.figure(t, name) == 0 {
			t.Errorf("/metrics lacks %s", name)
		}
	}
}

// TestAuditStops: a server that stops sends what waits, and stops though a webhook hangs. Package queue has the time limits.
func TestAuditStops(t *testing.T) {
	t.Parallel()
	c := collect(t)
	r, stop, err := launch(sending(t, c, func(o *options.Options) { o.Audit.Webhook.BatchMaxWait = time.Hour }))
	must(t, err)
	for i := range 20 {
		r.getConfigMap(t, fmt.Sprint(i))
	}
	if n := len(c.names()); n != 0 {
		t.Fatalf("%d events were sent before their time", n)
	}
	must(t, stop())
	if n := len(c.names()); n != 40 {
		t.Errorf("%d events of 40 were sent", n)
	}

	for name, behaviour := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"hangs": func(_ http.ResponseWriter, r *http.Request) bool {
			<-r.Context().Done()
			return true
		},
		"wants to be asked again in years": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Retry-After", "1000000000")
			http.Error(w, "later", http.StatusTooManyRequests)
			return true
		},
	} {
		c.misbehave(behaviour)
		text := &log{}
		r, stop, err := launchLogging(slog.New(slog.NewTextHandler(text, nil)), nil, sending(t, c, func(*options.Options) {}))
		must(t, err)
		for i := range 20 {
			if code := r.getConfigMap(t, fmt.Sprint(i)); code != 404 {
				t.Errorf("a request beside a webhook that %s: %d", name, code)
			}
		}
		must(t, stop())
		if said := text.String(); !strings.Contains(said, "audit events were lost") {
			t.Errorf("the webhook %s, and nothing was said of losses: %s", name, said)
		}
	}
}

// TestAuditModes: in mode blocking-strict a request whose first event is lost is refused, in mode blocking it is not, and in both it
// waits.
func TestAuditModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{audit.ModeBlocking, audit.ModeBlockingStrict} {
		c := collect(t)
		// The request to a webhook that hangs takes as long, and all others have as long, also on a busy machine.
		r := start(t, sending(t, c, func(o *options.Options) { o.Audit.Webhook.Mode, o.Limits.RequestTimeout = mode, 45*time.Second }))
		rejected := r.figure(t, "apiserver_audit_requests_rejected_total")
		if code := r.getConfigMap(t, "a"); code != 404 || len(c.names()) != 2 {
			t.Errorf("%s: %d, and the webhook has %v when the request is answered", mode, code, c.names())
		}
		c.misbehave(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true })
		res, body := ask(t, r.httpClient(t), "GET", r.URL+"/api/v1/namespaces/default/configmaps/b", nil)
		strict := mode == audit.ModeBlockingStrict
		if strict != (res.StatusCode == 500) || strict != strings.Contains(string(body), "failed to store audit event") {
			t.Errorf("%s: %s %s", mode, res.Status, body)
		}
		const failed = "failed to store audit event: audit webhook: "
		if step := r.failedStep(t, "name:b", "filter.audit"); strict != strings.HasPrefix(step, failed) {
			t.Errorf("%s: the step says %q", mode, step)
		}
		// One that does not answer is waited for by a request as long as that has time.
		c.misbehave(func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true })
		res, body = ask(t, r.httpClient(t), "GET", r.URL+"/api/v1/namespaces/default/configmaps/c", nil)
		if want := map[bool]int{true: 500, false: 404}[strict]; res.StatusCode != want {
			t.Errorf("%s: a webhook that does not answer: %s %s", mode, res.Status, body)
		}
		if step := r.failedStep(t, "name:c", "filter.audit"); strict != (strings.HasPrefix(step, failed) && strings.Contains(step, "deadline exceeded")) {
			t.Errorf("%s: the step says %q", mode, step)
		}
		// The counter is the library's, and so the process's: servers of other tests don't reject anything.
		if n := r.figure(t, "apiserver_audit_requests_rejected_total") - rejected; strict != (n == 2) {
			t.Errorf("%s: %v requests are counted as rejected", mode, n)
		}
	}
}

// failedStep is the error of a step of the newest journey that the filter selects; empty if it has none.
func (r *running) failedStep(t testing.TB, filter, step string) string {
	t.Helper()
	all := r.journeysOf(t, "?filter="+url.QueryEscape(filter))
	if len(all) == 0 {
		t.Fatalf("no journey has %s", filter)
	}
	var j v1alpha1.Journey
	r.kx(t, "GET", "journeys/"+all[len(all)-1].Name, nil, 200, &j)
	for _, one := range stepsOf(&j, step) {
		return one.Error
	}
	t.Fatalf("no step %s", step)
	return ""
}

// TestAuditRotation fills several files through the server. Nothing is lost between them, and they are the owner's alone.
func TestAuditRotation(t *testing.T) {
	t.Parallel()
	file, edit := auditing(t, "omitStages: [RequestReceived]\nrules: [{level: RequestResponse, verbs: [update], resources: [{group: '', resources: [configmaps]}]}]\n")
	r, stop, err := launch(edit, func(o *options.Options) {
		o.Audit.Log.MaxSize, o.Audit.Log.Compress, o.Audit.Log.Mode = 1, true, audit.ModeBatch
	})
	must(t, err)
	const objects, each = 4, 25
	client := r.httpClient(t)
	var running sync.WaitGroup
	for o := range objects {
		path := fmt.Sprintf("%s/api/v1/namespaces/default/configmaps/c%d", r.URL, o)
		body := func(i int) io.Reader {
			return strings.NewReader(fmt.Sprintf(`{"metadata":{"name":"c%d"},"data":{"i":"%d","x":%q}}`, o, i, strings.Repeat("x", 20<<10)))
		}
		ask(t, client, "POST", strings.TrimSuffix(path, fmt.Sprintf("/c%d", o)), body(0))
		running.Go(func() {
			for i := range each {
				if res, answer := ask(t, client, "PUT", path, body(i), fmt.Sprintf("User-Agent: %d-%d", o, i)); res.StatusCode != 200 {
					t.Errorf("%s: %s", res.Status, answer)
				}
			}
		})
	}
	running.Wait()
	must(t, stop())

	entries, err := os.ReadDir(filepath.Dir(file))
	must(t, err)
	seen := map[string]int{}
	for _, entry := range entries {
		name := filepath.Join(filepath.Dir(file), entry.Name())
		info, err := entry.Info()
		must(t, err)
		if info.Mode().Perm() != 0o600 || info.Size() > 1<<20 {
			t.Errorf("%s has %d bytes and the mode %v", entry.Name(), info.Size(), info.Mode())
		}
		if strings.HasSuffix(name, ".gz") {
			name = gunzip(t, name)
		}
		for _, e := range audited(t, name) {
			seen[e.UserAgent]++
		}
	}
	if len(entries) < 4 || len(seen) != objects*each {
		t.Errorf("%d files have %d of %d events", len(entries), len(seen), objects*each)
	}
	for agent, n := range seen {
		if n != 1 {
			t.Errorf("the request %s has %d events", agent, n)
		}
	}
}

// gunzip unpacks a file elsewhere.
func gunzip(t *testing.T, name string) string {
	t.Helper()
	in, err := os.Open(name)
	must(t, err)
	defer in.Close()
	unpacked, err := gzip.NewReader(in)
	must(t, err)
	text, err := io.ReadAll(unpacked)
	must(t, err)
	out := filepath.Join(t.TempDir(), "unpacked")
	must(t, os.WriteFile(out, text, 0o600))
	return out
}

// TestAuditRefusesToStart: a configuration that can't work is an error at the start, with its file and its place there.
func TestAuditRefusesToStart(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	must(t, os.WriteFile(broken, []byte("clusters: [\n"), 0o600))
	policy := policyFile(t, "rules:\n- level: Metadata\n- level: Everything\n")
	for _, tc := range []struct {
		edit func(*options.Options)
		want []string
	}{
		{func(o *options.Options) { o.Audit.Log.Path, o.Audit.PolicyFile = "-", policy },
			[]string{"--audit-policy-file: " + policy + ": line 5: rules[1].level: Unsupported value: \"Everything\""}},
		{func(o *options.Options) { o.Audit.Log.Path, o.Audit.PolicyFile = "-", policy+".none" },
			[]string{"--audit-policy-file: open " + policy + ".none: no such file"}},
		{func(o *options.Options) { o.Audit.Webhook.File = broken }, []string{"--audit-webhook-config-file: " + broken + ": ", "line 1"}},
		{func(o *options.Options) { o.Audit.Log.Path = filepath.Dir(broken) }, []string{"open --audit-log-path: ", "is a directory"}},
	} {
		_, stop, err := launch(tc.edit)
		if err == nil {
			must(t, stop())
			t.Errorf("it starts, and should say %q", tc.want)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("it says %q, not %q", err, tc.want)
			}
		}
	}
}
