package audit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"
)

// Config configures which requests are recorded, and where events go.
type Config struct {
	// PolicyFile is the path of the policy. If it is empty, the metadata of all writes is recorded.
	PolicyFile string
	Log        LogFile
	Webhook    Webhook
	// RequestTimeout is the time limit of a request. It includes the wait for the request's events.
	RequestTimeout time.Duration

	Registry prometheus.Registerer
	Logger   *slog.Logger
}

// flushWait limits the time in which a stopping server sends the queued events. A server that has failed has only a few
// seconds more for its whole stop.
const flushWait = 5 * time.Second

// Log is an audit log, and the sink of events. A nil Log records nothing.
type Log struct {
	Policy audit.PolicyRuleEvaluator

	sinks []sink
	// strict is true if a failure may refuse a request.
	strict   bool
	failures *failures
	// queues flush until their context ends.
	queues []func(context.Context) error
	// end cancels the writes that requests wait for.
	end context.CancelFunc
	// closers close files and connections.
	closers []func() error
}

// Open opens the log. It returns nil if neither a file nor a webhook is configured.
func Open(c Config) (*Log, error) {
	if c.Log.Path == "" && c.Webhook.File == "" {
		return nil, nil
	}
	rules, err := loadPolicy(c.PolicyFile, c.Logger)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	l := &Log{Policy: policy.NewPolicyRuleEvaluator(rules), failures: newFailures(c.Registry, c.Logger), end: end}
	if c.Log.Path != "" {
		w, err := openFile(c.Log, l.failures)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.closers = append(l.closers, w.Close)
		l.deliver(life, &c, logPlugin, c.Log.Delivery, 1, w.send)
	}
	if c.Webhook.File != "" {
		w, err := newWebhook(c.Webhook)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.closers = append(l.closers, w.Close)
		l.deliver(life, &c, webhookPlugin, c.Webhook.Delivery, webhookSenders, w.send)
	}
	return l, nil
}

// Close sends the queued events, and closes everything. Later events are lost.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushWait)
	defer cancel()
	return l.close(ctx)
}

func (l *Log) close(ctx context.Context) error {
	errs := make([]error, len(l.queues))
	var flushes sync.WaitGroup
	for i, flush := range l.queues {
		flushes.Go(func() { errs[i] = flush(ctx) })
	}
	flushes.Wait()
	l.end()
	for _, c := range l.closers {
		errs = append(errs, c())
	}
	l.failures.close()
	return errors.Join(errs...)
}

// sink takes events. An error refuses the request, if the event is its first one.
type sink interface {
	take(e *auditinternal.Event) error
}

var _ audit.Sink = &Log{}

// ProcessEvents writes events, and reports whether their requests may go on.
func (l *Log) ProcessEvents(events ...*auditinternal.Event) bool { return l.write(events) == nil }

func (l *Log) write(events []*auditinternal.Event) error {
	var errs []error
	for _, e := range events {
		masked := maskEvent(e)
		for _, to := range l.sinks {
			errs = append(errs, to.take(masked))
		}
	}
	return errors.Join(errs...)
}

// WithRefusal returns the log for one request. If the log refuses the request, it stores the reason in why.
func (l *Log) WithRefusal(why *error) audit.Sink {
	if !l.strict {
		return l // it refuses no request
	}
	return reporter{l, why}
}

type reporter struct {
	*Log
	why *error
}

func (t reporter) ProcessEvents(events ...*auditinternal.Event) bool {
	*t.why = t.write(events)
	return *t.why == nil
}
