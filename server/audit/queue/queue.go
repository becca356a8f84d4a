package queue

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
)

// Config says how much may wait, and how it is sent.
type Config struct {
	// Events and Bytes are how many events may wait, and how large these and the batches on their way may be together.
	Events int
	Bytes  int64
	// BatchEvents and BatchBytes bound a batch; 0 bytes are no bound. A batch is sent when it is full, or Wait after its first event.
	BatchEvents int
	BatchBytes  int64
	Wait        time.Duration
	// Rate is how many batches are sent a second, and Burst how many at once after a quiet time. A Rate of 0 is no bound.
	Rate  float32
	Burst int
	// Senders is how many batches may be on their way at once.
	Senders int

	// Send sends a batch. It should return soon when ctx ends. It counts itself what it could not send.
	Send func(ctx context.Context, events []*auditinternal.Event)
	// Lost is told of events that were not sent, and why.
	Lost func(why error, events int)
}

// The reasons of losses.
var (
	ErrFull    = errors.New("too many events wait to be sent")
	ErrClosed  = errors.New("the server has stopped")
	ErrTooLate = errors.New("the server stopped before they could be sent")
)

// Queue has the events that wait.
type Queue struct {
	config Config
	// held is the size of the events that wait or are on their way.
	held atomic.Int64

	mu     sync.RWMutex // for closed, and to send to events
	closed bool
	events chan sized

	life    context.Context
	end     context.CancelFunc
	senders sync.WaitGroup
	done    chan struct{} // closed when nothing is on its way any more
}

type sized struct {
	*auditinternal.Event
	bytes int64
}

// New begins to send. It must be closed.
func New(c Config) *Queue {
	q := &Queue{config: c, events: make(chan sized, c.Events), done: make(chan struct{})}
	q.life, q.end = context.WithCancel(context.Background())
	go q.run()
	return q
}

// Put queues a copy of an event, since the original goes on to change. There may be no room for it: then it is lost.
func (q *Queue) Put(e *auditinternal.Event) {
	if err := q.put(e); err != nil {
		q.config.Lost(err, 1)
	}
}

func (q *Queue) put(e *auditinternal.Event) error {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		return ErrClosed
	}
	size := sizeOf(e)
	if q.held.Add(size) > q.config.Bytes {
		q.held.Add(-size)
		return ErrFull
	}
	select {
	case q.events <- sized{copyOf(e), size}:
		return nil
	default:
		q.held.Add(-size)
		return ErrFull
	}
}

// copyOf copies an event but not the bytes of its objects, which nobody changes.
func copyOf(e *auditinternal.Event) *auditinternal.Event {
	small := *e
	small.RequestObject, small.ResponseObject = nil, nil
	out := small.DeepCopy()
	out.RequestObject, out.ResponseObject = e.RequestObject, e.ResponseObject
	return out
}

// eventBytes is about the size of an event without its texts of any length.
const eventBytes = 1024

// sizeOf is about how much memory an event takes.
func sizeOf(e *auditinternal.Event) int64 {
	size := eventBytes + len(e.RequestURI) + len(e.UserAgent)
	for k, v := range e.Annotations {
		size += len(k) + len(v)
	}
	for _, group := range e.User.Groups {
		size += len(group)
	}
	if e.RequestObject != nil {
		size += len(e.RequestObject.Raw)
	}
	if e.ResponseObject != nil {
		size += len(e.ResponseObject.Raw)
	}
	return int64(size)
}

// run sends batches until the queue is closed and empty, or its life is over.
func (q *Queue) run() {
	defer close(q.done)
	defer q.senders.Wait()
	limit := rate.Inf
	if q.config.Rate > 0 {
		limit = rate.Limit(q.config.Rate)
	}
	throttle := rate.NewLimiter(limit, q.config.Burst)
	slots := make(chan struct{}, q.config.Senders)
	var next *sized // did not fit into the batch before
	for {
		if next == nil {
			first, ok := <-q.events
			if !ok {
				return
			}
			next = &first
		}
		var b batch
		b, next = q.collect(*next)
		if throttle.Wait(q.life) != nil || !q.begin(slots, b) {
			q.lose(b, next)
			return
		}
	}
}

type batch struct {
	events []*auditinternal.Event
	bytes  int64
}

func (b *batch) add(e sized) {
	b.events = append(b.events, e.Event)
	b.bytes += e.bytes
}

// collect makes a batch that begins with first. It returns an event that does not fit into it any more, if there was one.
func (q *Queue) collect(first sized) (b batch, next *sized) {
	b.add(first)
	var late <-chan time.Time
	for len(b.events) < q.config.BatchEvents {
		e, ok, wait := q.ready()
		if wait {
			if late == nil {
				timer := time.NewTimer(q.config.Wait)
				defer timer.Stop()
				late = timer.C
			}
			select {
			case e, ok = <-q.events:
			case <-late:
				return b, nil
			}
		}
		if !ok {
			return b, nil // closed: nothing is waited for
		}
		if q.config.BatchBytes > 0 && b.bytes+e.bytes > q.config.BatchBytes {
			return b, &e
		}
		b.add(e)
	}
	return b, nil
}

// ready returns an event that is there already, or says that one has to wait for it.
func (q *Queue) ready() (e sized, ok, wait bool) {
	select {
	case e, ok = <-q.events:
		return e, ok, false
	default:
		return e, false, true
	}
}

// begin sends a batch as soon as fewer than Senders are on their way. It reports whether the queue still lives.
func (q *Queue) begin(slots chan struct{}, b batch) bool {
	select {
	case slots <- struct{}{}:
	case <-q.life.Done():
		return false
	}
	q.senders.Go(func() {
		defer func() {
			q.held.Add(-b.bytes)
			<-slots
		}()
		q.config.Send(q.life, b.events)
	})
	return true
}

// lose counts what can't be sent any more. The queue is closed.
func (q *Queue) lose(b batch, next *sized) {
	lost := len(b.events)
	if next != nil {
		lost++
	}
	for range q.events {
		lost++
	}
	q.config.Lost(ErrTooLate, lost)
}

// afterwards is how long batches have to end when nobody waits for their success any more.
const afterwards = time.Second

// Close takes no further events, sends those that wait, and waits for that until ctx ends. It may be called once.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	close(q.events)
	q.mu.Unlock()
	defer q.end()
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
	}
	q.end()
	select {
	case <-q.done:
		return nil
	case <-time.After(afterwards):
		return errors.New("a batch of audit events is still being written, and nobody waits for it any longer")
	}
}
