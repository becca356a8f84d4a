package filter

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	kubeaudit "k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// events is a sink that keeps events. It takes none of a stage that it refuses.
type events struct {
	mu     sync.Mutex
	all    []*auditinternal.Event
	refuse auditinternal.Stage
}

var _ kubeaudit.Sink = &events{}

func (s *events) ProcessEvents(events ...*auditinternal.Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		s.all = append(s.all, e.DeepCopy())
		if e.Stage == s.refuse {
			return false
		}
	}
	return true
}

// take returns the stages and codes of the events since the last call, and the last event.
func (s *events) take() (stages string, last *auditinternal.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var words []string
	for _, last = range s.all {
		word := string(last.Stage)
		if last.ResponseStatus != nil {
			word += fmt.Sprint(" ", last.ResponseStatus.Code)
		}
		words = append(words, word)
	}
	s.all = nil
	return strings.Join(words, ", "), last
}

// TestAuditStages: whatever becomes of a request, its events end as its answer did.
func TestAuditStages(t *testing.T) {
	sink := &events{}
	calls := 0
	d := newDoor(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		switch r.URL.Query().Get("do") {
		case "panic":
			panic("no")
		case "panic late":
			half(t, w)
			panic("no")
		case "abort":
			half(t, w)
			panic(http.ErrAbortHandler)
		case "wait":
			<-r.Context().Done()
			w.WriteHeader(http.StatusGatewayTimeout)
		case "silence":
		default:
			_, _ = io.WriteString(w, "hello")
		}
	}, func(c *Config) {
		c.AuditSink = sink
		c.AuditPolicy = policy.NewPolicyRuleEvaluator(&auditinternal.Policy{Rules: []auditinternal.PolicyRule{{Level: auditinternal.LevelMetadata}}})
	})
	const pods = "/api/v1/namespaces/x/pods"
	for _, tc := range []struct{ query, want, message string }{
		{"?do=it", "RequestReceived, ResponseComplete 200", ""},
		{"?do=silence", "RequestReceived, ResponseComplete 200", "Connection closed early"},
		{"?do=panic", "RequestReceived, Panic 500", "APIServer panic'd: no"},
		{"?do=panic+late", "RequestReceived, Panic 500", "APIServer panic'd: no"},
		{"?do=abort", "RequestReceived, Panic 500", "APIServer panic'd: net/http: abort Handler"},
		{"?do=wait&timeout=600ms", "RequestReceived, ResponseComplete 504", ""},
		{"?timeout=never", "ResponseStarted 400", ""},
		{"?watch=1&do=it", "RequestReceived, ResponseStarted 200, ResponseComplete 200", ""},
		{"?watch=1&do=silence", "RequestReceived, ResponseStarted 200, ResponseComplete 200", "Connection closed early"},
		{"?watch=1&do=panic", "RequestReceived, Panic 500", "APIServer panic'd: no"},
		{"?watch=1&do=panic+late", "RequestReceived, ResponseStarted 200, Panic 500", "APIServer panic'd: no"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", d.URL+pods+tc.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := d.admin.Do(req); err == nil { // some answers are cut off
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		want := strings.Count(tc.want, ",") + 1
		for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Millisecond) {
			sink.mu.Lock()
			n := len(sink.all)
			sink.mu.Unlock()
			if n >= want {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s has %d events", tc.query, n)
			}
		}
		stages, last := sink.take()
		if stages != tc.want || tc.message != "" && last.ResponseStatus.Message != tc.message {
			t.Errorf("%s has %s with the message %q, not %s with %q", tc.query, stages, last.ResponseStatus.Message, tc.want, tc.message)
		}
		slow := last.Annotations["apiserver.latency.k8s.io/total"]
		if took, err := time.ParseDuration(slow); strings.Contains(tc.query, "wait") && (err != nil || took < 600*time.Millisecond) {
			t.Errorf("%s has the annotations %v", tc.query, last.Annotations)
		}
		if slow != "" && (last.Annotations["apiserver.latency.k8s.io/authentication"] == "" || last.Annotations["apiserver.latency.k8s.io/authorization"] == "") {
			t.Errorf("%s has the annotations %v", tc.query, last.Annotations)
		}
	}

	before := calls
	sink.refuse = auditinternal.StageRequestReceived
	res, body := d.ask(t, d.admin, "GET", pods)
	if res.StatusCode != 500 || !strings.Contains(body, "failed to store audit event") || calls != before {
		t.Errorf("a request whose first event is lost: %s %s, and the handler was called %d times", res.Status, body, calls-before)
	}
	sink.take()
	sink.refuse = auditinternal.StageResponseComplete
	if res, _ := d.ask(t, d.admin, "GET", pods); res.StatusCode != 200 {
		t.Errorf("a request whose last event is lost: %s", res.Status)
	}
}

// half sends the beginning of an answer: a client that has seen none of it would ask again by itself.
func half(t *testing.T, w http.ResponseWriter) {
	_, _ = io.WriteString(w, "half")
	if err := http.NewResponseController(w).Flush(); err != nil {
		t.Error(err)
	}
}

// TestSumLatencies adds up the steps of a journey.
func TestSumLatencies(t *testing.T) {
	step := func(id steps.ID, parent int, took time.Duration) trace.StepRecord {
		return trace.StepRecord{ID: id, Parent: parent, Took: took}
	}
	got := sumLatencies([]trace.StepRecord{
		step(steps.FilterAuthentication, -1, 1), step(steps.HandlerCreate, -1, 900),
		step(steps.HandlerMutate, 1, 100), step(steps.HandlerWebhook, 2, 30), step(steps.HandlerWebhook, 2, 20),
		step(steps.HandlerValidate, 1, 100), step(steps.HandlerWebhook, 5, 30), step(steps.HandlerWebhook, 5, 20),
		step(steps.EtcdTxn, 1, 200), step(steps.EtcdGet, 1, 50), step(steps.Etcd3Decode, 1, 7),
		step(steps.HandlerEncode, 1, 100), step(steps.HandlerTransform, 11, 40), step(steps.EtcdGet, 1, -1),
	})
	want := "map[authentication:1ns decode-response-object:7ns etcd:250ns mutating-webhook:50ns serialize-response-object:60ns transform-response-object:40ns validating-webhook:30ns]"
	if fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}
