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

// Config says which requests are recorded, and where events go.
type Config struct {
	// PolicyFile is empty for the metadata of all writes.
	PolicyFile string
	Log        LogFile
	Webhook    Webhook

	Registry prometheus.Registerer
	Logger   *slog.Logger
}

// flushWait is how long a server that stops sends the events that wait in queues. One that has failed has a few seconds more than
// that for all of its stop.
const flushWait = 5 * time.Second

// Log is an audit log. A nil Log records nothing.
type Log struct {
	Sink   audit.Sink
	Policy audit.PolicyRuleEvaluator

	failures *failures
	// queues flush until their context ends.
	queues []func(context.Context) error
	// end breaks off what requests wait for.
	end context.CancelFunc
	// closers close files and connections.
	closers []func() error
}

// Open begins to log. It returns nil if events go nowhere.
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
	var sinks union
	if c.Log.Path != "" {
		w, err := openFile(c.Log, l.failures)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.closers = append(l.closers, w.Close)
		sinks = append(sinks, l.deliver(life, logPlugin, c.Log.Delivery, 1, w.send))
	}
	if c.Webhook.File != "" {
		w, err := newWebhook(c.Webhook)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.closers = append(l.closers, w.Close)
		sinks = append(sinks, l.deliver(life, webhookPlugin, c.Webhook.Delivery, webhookSenders, w.send))
	}
	l.Sink = quiet{sinks}
	return l, nil
}

// Close sends what waits, and closes everything. What comes afterwards is lost.
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

// union gives each event to all sinks.
type union []audit.Sink

func (u union) ProcessEvents(events ...*auditinternal.Event) bool {
	ok := true
	for _, sink := range u {
		ok = sink.ProcessEvents(events...) && ok
	}
	return ok
}
