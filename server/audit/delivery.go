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
	// ModeBatch has events wait in a queue, and requests go on.
	ModeBatch = "batch"
	// ModeBlocking has requests wait until their events are written.
	ModeBlocking = "blocking"
	// ModeBlockingStrict also refuses a request whose first event can't be written.
	ModeBlockingStrict = "blocking-strict"
)

// Modes are all that there are.
var Modes = []string{ModeBatch, ModeBlocking, ModeBlockingStrict}

// Delivery says how events get to where they go.
type Delivery struct {
	Mode string
	// Version is the API version that events are written in.
	Version string

	// BufferSize is how many events may wait, in mode batch, and the others say what a batch is.
	BufferSize                   int
	BatchMaxSize                 int
	BatchMaxWait                 time.Duration
	Throttle                     bool
	ThrottleQPS                  float32
	ThrottleBurst                int
	Truncate                     bool
	MaxEventBytes, MaxBatchBytes int64
}

// waitingBytes bounds the events that wait for one of the two ways, and those on it. 10,000 events without bodies have a tenth of it.
const waitingBytes = 128 << 20

// send sends events, and returns how many of them it could not send. It should return soon when ctx ends.
type send func(ctx context.Context, events []*auditinternal.Event) (lost int, err error)

// deliver has events sent by send, of which as many as senders run at once.
func (l *Log) deliver(life context.Context, config *Config, plugin string, d Delivery, senders int, by send) {
	var to sink
	failed := l.failures.of(plugin)
	if d.Mode == ModeBatch {
		c := queue.Config{
			Events: d.BufferSize, Bytes: waitingBytes, BatchEvents: d.BatchMaxSize, Wait: d.BatchMaxWait, Senders: senders,
			Send: func(ctx context.Context, events []*auditinternal.Event) {
				if lost, err := by(ctx, events); err != nil {
					failed(err, lost)
				}
			},
			Lost: l.failures.of(bufferPlugin),
		}
		if d.Throttle {
			c.Rate, c.Burst = d.ThrottleQPS, d.ThrottleBurst
		}
		if d.Truncate {
			c.BatchBytes = d.MaxBatchBytes
		}
		q := queue.New(c)
		l.queues = append(l.queues, q.Close)
		to = queued{q}
	} else {
		// A request has two events that it waits for. The last third of its time is for what it is about.
		to = &direct{life: life, most: config.RequestTimeout / 3, send: by, plugin: plugin, failed: failed, strict: d.Mode == ModeBlockingStrict}
		l.strict = l.strict || d.Mode == ModeBlockingStrict
	}
	if d.Truncate {
		to = &truncating{next: to, most: d.MaxEventBytes, failed: l.failures.of(truncatePlugin)}
	}
	l.sinks = append(l.sinks, to)
}

// queued is a sink that no request waits for.
type queued struct{ *queue.Queue }

func (q queued) take(e *auditinternal.Event) error {
	q.Put(e)
	return nil
}

// direct is a sink that requests wait for. A client that leaves, or that has little time, does not keep its events from being written.
type direct struct {
	life context.Context
	// most is how long one event may take.
	most   time.Duration
	send   send
	plugin string
	failed func(error, int)
	// strict has it say so when it fails.
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
