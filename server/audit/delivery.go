package audit

import (
	"context"
	"fmt"
	"time"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"

	"github.com/kx-apiserver/kx/server/audit/queue"
)

// The modes of a Delivery.
const (
	// ModeBatch queues events, and requests go on.
	ModeBatch = "batch"
	// ModeBlocking makes requests wait until their events are written.
	ModeBlocking = "blocking"
	// ModeBlockingStrict also refuses a request whose first event can't be written.
	ModeBlockingStrict = "blocking-strict"
)

// Modes lists all modes.
var Modes = []string{ModeBatch, ModeBlocking, ModeBlockingStrict}

// Delivery configures the way of events to their destination.
type Delivery struct {
	Mode string
	// Version is the API version of the written events.
	Version string

	// BufferSize limits the queued events in mode batch. The fields below it limit a batch, the rate of batches, and
	// the size of events.
	BufferSize                   int
	BatchMaxSize                 int
	BatchMaxWait                 time.Duration
	Throttle                     bool
	ThrottleQPS                  float32
	ThrottleBurst                int
	Truncate                     bool
	MaxEventBytes, MaxBatchBytes int64
}

// waitingBytes limits the events that are queued for, or on their way to, one destination. 10,000 events without bodies
// take a tenth of it.
const waitingBytes = 128 << 20

// send sends events. It returns the number of events that it could not send, and should return soon after ctx ends.
type send func(ctx context.Context, events []*auditinternal.Event) (lost int, err error)

// deliver adds a destination, to which by sends events. At most senders of its calls run at once.
func (l *Log) deliver(life context.Context, config *Config, plugin string, d Delivery, senders int, by send) {
	var to sink
	failed := l.failures.counter(plugin)
	if d.Mode == ModeBatch {
		c := queue.Config{
			Events: d.BufferSize, Bytes: waitingBytes, BatchEvents: d.BatchMaxSize, Wait: d.BatchMaxWait, Senders: senders,
			Send: func(ctx context.Context, events []*auditinternal.Event) {
				if lost, err := by(ctx, events); err != nil {
					failed(err, lost)
				}
			},
			Lost: l.failures.counter(bufferPlugin),
		}
		if d.Throttle {
			c.Rate, c.Burst = d.ThrottleQPS, d.ThrottleBurst
		}
		if d.Truncate {
			c.BatchBytes = d.MaxBatchBytes
		}
		q := queue.New(c)
		l.queues = append(l.queues, q.Close)
		to = queueSink{q}
	} else {
		// A request waits for two events. The last third of its time is for its own work.
		to = &direct{life: life, most: config.RequestTimeout / 3, send: by, plugin: plugin, failed: failed,
			strict: d.Mode == ModeBlockingStrict}
		l.strict = l.strict || d.Mode == ModeBlockingStrict
	}
	if d.Truncate {
		to = &truncatingSink{next: to, most: d.MaxEventBytes, failed: l.failures.counter(truncatePlugin)}
	}
	l.sinks = append(l.sinks, to)
}

// queueSink is a sink for which no request waits.
type queueSink struct{ *queue.Queue }

func (q queueSink) take(e *auditinternal.Event) error {
	q.Put(e)
	return nil
}

// direct is a sink for which requests wait. Its events are written even if the client disconnects, or its deadline is
// near.
type direct struct {
	life context.Context
	// most limits the time for one event.
	most   time.Duration
	send   send
	plugin string
	failed func(error, int)
	// strict makes take return errors.
	strict bool
}

func (d *direct) take(e *auditinternal.Event) error {
	ctx, cancel := context.WithTimeout(d.life, d.most)
	defer cancel()
	lost, err := d.send(ctx, []*auditinternal.Event{e})
	if err == nil {
		return nil
	}
	d.failed(err, lost)
	if !d.strict {
		return nil
	}
	return fmt.Errorf("audit %s: %w", d.plugin, err)
}
