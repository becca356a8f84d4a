package audit

import (
	"context"
	"time"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"

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

// deliver makes the sink that sends events by send, of which as many as senders run at once.
func (l *Log) deliver(life context.Context, plugin string, d Delivery, senders int, by send) audit.Sink {
	var sink audit.Sink
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
		sink = queued{q}
	} else {
		sink = &direct{life: life, send: by, failed: failed, strict: d.Mode == ModeBlockingStrict}
	}
	if d.Truncate {
		sink = &truncating{next: sink, most: d.MaxEventBytes, failed: l.failures.of(truncatePlugin)}
	}
	return sink
}

// queued is a sink that no request waits for.
type queued struct{ *queue.Queue }

func (q queued) ProcessEvents(events ...*auditinternal.Event) bool {
	for _, e := range events {
		q.Put(e)
	}
	return true
}

// direct is a sink that requests wait for.
type direct struct {
	life   context.Context
	send   send
	failed func(error, int)
	// strict has it say so when it fails.
	strict bool
}

func (d *direct) ProcessEvents(events ...*auditinternal.Event) bool {
	lost, err := d.send(d.life, events)
	if err == nil {
		return true
	}
	d.failed(err, lost)
	return !d.strict
}
