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
	}{
		{"POST", configMaps, `{"metadata":{"name":"app"}}`, `"name":"app"`, `"uid":`},
		{"PUT", configMaps + "/app", `{"metadata":{"name":"app"},"data":{"a":"b"}}`, `"a":"b"`, `"uid":`},
		{"GET", configMaps + "/app", "", "", `"a":"b"`},
		{"GET", configMaps + "/none", "", "", `"reason":"NotFound"`},
		{"DELETE", configMaps + "/app", `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}`, `"gracePeriodSeconds":0`, `"Success"`},
	} {
		s.do(t, tc.method, tc.path, strings.NewReader(tc.body))
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
