package endpoint_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/audit"
	kubeaudit "k8s.io/apiserver/pkg/audit"
)

// TestAudit shows that the audit log gets what was sent and what was answered.
func TestAudit(t *testing.T) {
	s := newServer(t)
	log := &auditLog{}
	s.within = func(ctx context.Context) context.Context {
		ctx = kubeaudit.WithAuditContext(ctx)
		must(t, kubeaudit.AuditContextFrom(ctx).Init(kubeaudit.RequestAuditConfig{Level: audit.LevelRequestResponse}, log))
		return ctx
	}
	s.after = func(ctx context.Context) {
		kubeaudit.AuditContextFrom(ctx).ProcessEventStage(ctx, audit.StageResponseComplete)
	}
	for _, tc := range []struct {
		method, path, body string
		request, response  string
		header             []string
	}{
		{"POST", configMaps, `{"metadata":{"name":"app"}}`, `"name":"app"`, `"uid":`, nil},
		{"PUT", configMaps + "/app", `{"metadata":{"name":"app"},"data":{"a":"b"}}`, `"a":"b"`, `"uid":`, nil},
		{"PATCH", configMaps + "/app?fieldManager=ann", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  a: b\n",
			`{"apiVersion":"v1","data":{"a":"b"},"kind":"ConfigMap","metadata":{"name":"app"}}`, `"manager":"ann"`, []string{applyPatch}},
		{"GET", configMaps + "/app", "", "", `"a":"b"`, nil},
		{"GET", configMaps + "/none", "", "", `"reason":"NotFound"`, nil},
		{"DELETE", configMaps + "/app", `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}`, `"gracePeriodSeconds":0`, `"Success"`, nil},
	} {
		s.do(t, tc.method, tc.path, strings.NewReader(tc.body), tc.header...)
		event := log.take(t)
		if got := string(raw(event.RequestObject)); !strings.Contains(got, tc.request) {
			t.Errorf("%s %s: the audit log has the request %s", tc.method, tc.path, got)
		}
		if got := string(raw(event.ResponseObject)); !strings.Contains(got, tc.response) {
			t.Errorf("%s %s: the audit log has the response %s", tc.method, tc.path, got)
		}
	}
}

func raw(u *runtime.Unknown) []byte {
	if u == nil {
		return nil
	}
	return u.Raw
}

// auditLog keeps the latest event.
type auditLog struct {
	mu     sync.Mutex
	events []*audit.Event
}

func (l *auditLog) ProcessEvents(events ...*audit.Event) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		l.events = append(l.events, e.DeepCopy())
	}
	return true
}

func (l *auditLog) take(t testing.TB) *audit.Event {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.events) != 1 {
		t.Fatalf("the audit log has %d events", len(l.events))
	}
	e := l.events[0]
	l.events = nil
	return e
}
