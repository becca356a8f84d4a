package audit

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
)

func event(id string, level auditinternal.Level, bytes int) *auditinternal.Event {
	e := &auditinternal.Event{
		AuditID: types.UID(id), Level: level, Stage: auditinternal.StageResponseComplete, Verb: "create",
		RequestURI: "/api/v1/pods?token=hidden\x1b", UserAgent: "\u202eagent",
		Annotations: map[string]string{"a": "b"},
	}
	e.User.Username = "ann"
	if bytes > 0 {
		e.RequestObject = &runtime.Unknown{Raw: fmt.Appendf(nil, `{"x":%q}`, strings.Repeat("x", bytes)), ContentType: runtime.ContentTypeJSON}
	}
	return e
}

// TestFormats: events are lines that act on no terminal, in each format and mode, without tokens.
func TestFormats(t *testing.T) {
	for _, format := range Formats {
		for _, mode := range Modes {
			file := filepath.Join(t.TempDir(), "audit.log")
			l, err := Open(Config{Log: LogFile{Path: file, Format: format, Delivery: Delivery{Mode: mode, BufferSize: 10, BatchMaxSize: 1}}, RequestTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				if !l.ProcessEvents(event(fmt.Sprint("id-", i), auditinternal.LevelMetadata, 0)) {
					t.Errorf("%s, %s: an event was not taken", format, mode)
				}
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			if len(lines) != 3 || bytes.ContainsAny(text, "\x1b\u202e") || bytes.Contains(text, []byte("hidden")) {
				t.Errorf("%s, %s: %q", format, mode, text)
			}
			for i, line := range lines {
				want := map[string]string{FormatJSON: fmt.Sprintf(`"auditID":"id-%d"`, i), formatLegacy: fmt.Sprintf(`AUDIT: id="id-%d" stage="ResponseComplete"`, i)}[format]
				if !strings.Contains(line, want) {
					t.Errorf("%s, %s: line %d is %q", format, mode, i, line)
				}
			}
		}
	}
}

// kept is a sink that keeps events.
type kept struct{ events []*auditinternal.Event }

func (k *kept) take(e *auditinternal.Event) error {
	k.events = append(k.events, e)
	return nil
}

// TestTruncating: an event that is too large loses its bodies, a copy of it does, and one that is too large without goes.
func TestTruncating(t *testing.T) {
	to := &kept{}
	lost := 0
	s := &truncatingSink{next: to, most: 2000, failed: func(err error, n int) {
		lost += n
		if !errors.Is(err, errTooLarge) {
			t.Error(err)
		}
	}}
	large := event("large", auditinternal.LevelRequest, 3000)
	wordy := event("wordy", auditinternal.LevelRequestResponse, 3000)
	wordy.Annotations["long"] = strings.Repeat("x", 3000)
	metadata := event("metadata", auditinternal.LevelMetadata, 0)
	metadata.UserAgent = strings.Repeat("x", 3000)
	for _, e := range []*auditinternal.Event{event("small", auditinternal.LevelRequest, 100), large, wordy, metadata} {
		if err := s.take(e); err != nil {
			t.Errorf("an event that is too large is no failure of its request: %v", err)
		}
	}
	if len(to.events) != 2 || lost != 2 {
		t.Fatalf("%d events came, and %d were lost", len(to.events), lost)
	}
	if small := to.events[0]; small.RequestObject == nil || small.Annotations[truncatedAnnotation] != "" {
		t.Errorf("the small one is %+v", small)
	}
	if got := to.events[1]; got.RequestObject != nil || got.Annotations[truncatedAnnotation] != "true" || got.Annotations["a"] != "b" {
		t.Errorf("the large one is %+v", got)
	}
	if large.RequestObject == nil || large.Annotations[truncatedAnnotation] != "" {
		t.Errorf("the original was changed: %+v", large)
	}
}

// TestTruncatesToFile: --audit-log-truncate-* are about the file alone.
func TestTruncatesToFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	l, err := Open(Config{Log: LogFile{Path: file, Format: FormatJSON, Delivery: Delivery{
		Mode: ModeBlockingStrict, Truncate: true, MaxEventBytes: 1000, MaxBatchBytes: 1000,
	}}, RequestTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	l.ProcessEvents(event("a", auditinternal.LevelRequest, 3000))
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	text, _ := os.ReadFile(file)
	if len(text) > 1000 || !bytes.Contains(text, []byte(`"audit.k8s.io/truncated":"true"`)) {
		t.Errorf("the file has %s", text)
	}
}

// TestFailures: losses are all counted, and the log has few lines about them, which add up.
func TestFailures(t *testing.T) {
	var said bytes.Buffer
	registry := prometheus.NewRegistry()
	f := newFailures(registry, slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}})))
	now := time.Now()
	f.now = func() time.Time { return now }
	log, hook, file := f.counter(logPlugin), f.counter(webhookPlugin), f.loggerFor(logPlugin)
	for i := range 100 {
		log(fmt.Errorf("full\x1b %d", i), 1)
		file(errors.New("no rotation"))
		now = now.Add(200 * time.Millisecond)
	}
	hook(errors.New("away"), 400)
	f.close()
	want := `msg="audit events were lost" at=log events=1 error="full\\x1b 0"
msg="the audit log's file has a problem, but no event was lost" at=log events=0 error="no rotation"
msg="audit events were lost" at=log events=50 error="full\\x1b 50"
msg="the audit log's file has a problem, but no event was lost" at=log events=0 error="no rotation"
msg="audit events were lost" at=webhook events=400 error=away
msg="audit events were lost" at=log events=49 error="full\\x1b 99"
msg="the audit log's file has a problem, but no event was lost" at=log events=0 error="no rotation"
`
	if said.String() != want {
		t.Errorf("the log has\n%s\nnot\n%s", said.String(), want)
	}
	counts := `# HELP apiserver_audit_error_total Audit events that were lost, by where: log, webhook, buffered for those that found the buffer full or came too late to it, truncate for those that were too large.
# TYPE apiserver_audit_error_total counter
apiserver_audit_error_total{plugin="log"} 100
apiserver_audit_error_total{plugin="webhook"} 400
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(counts)); err != nil {
		t.Error(err)
	}
}

// TestFullDisk: a write that fails is counted, and is a failure of the request in mode blocking-strict alone.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	for _, mode := range Modes {
		registry := prometheus.NewRegistry()
		l, err := Open(Config{Log: LogFile{Path: "/dev/full", MaxSize: 1, Format: FormatJSON, Delivery: Delivery{Mode: mode, BufferSize: 1, BatchMaxSize: 1}},
			Registry: registry, RequestTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if took := l.ProcessEvents(event("a", auditinternal.LevelMetadata, 0)); took == (mode == ModeBlockingStrict) {
			t.Errorf("%s: the event was taken: %v", mode, took)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if n := testutil.ToFloat64(l.failures.lost.WithLabelValues(logPlugin)); n != 1 {
			t.Errorf("%s: %v events are counted as lost", mode, n)
		}
	}
}

// TestNoLog: without a place to log to there is no log, and nothing to close.
func TestNoLog(t *testing.T) {
	l, err := Open(Config{PolicyFile: "none"})
	if l != nil || err != nil || l.Close() != nil {
		t.Errorf("%v %v", l, err)
	}
}
