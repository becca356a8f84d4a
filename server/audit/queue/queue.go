package queue

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
)

// Config limits the queue, and configures the sending.
type Config struct {
	// Events limits the queued events. Bytes limits their size together with that of the batches on their way.
	Events int
	Bytes  int64
	// BatchEvents and BatchBytes limit a batch; 0 bytes are no limit. A batch is sent when it is full, or Wait after
	// its first event.
	BatchEvents int
	BatchBytes  int64
	Wait        time.Duration
	// Rate limits the batches per second, and Burst those that are sent at once after a quiet time. A Rate of 0 is no
	// limit.
	Rate  float32
	Burst int
	// Senders limits the batches that are on their way at once.
	Senders int

	// Send sends a batch. It should return soon after ctx ends, and must itself count the events that it could not
	// send.
	Send func(ctx context.Context, events []*auditinternal.Event)
	// Lost is called for events that were not sent, with the reason.
	Lost func(why error, events int)
}

// The reasons of a loss.
var (
	errFull    = errors.New("too many events wait to be sent")
	errClosed  = errors.New("the server has stopped")
	errTooLate = errors.New("the server stopped before they could be sent")
)

// Queue holds the events until they are sent.
type Queue struct {
	config Config
	// held is the size of the events that are queued or on their way.
	held atomic.Int64

	mu     sync.RWMutex // guards closed, and is held to send to events
	closed bool
	events chan sizedEvent

	life    context.Context
	end     context.CancelFunc
	senders sync.WaitGroup
	done    chan struct{} // closed when run has returned and no batch is on its way
}

type sizedEvent struct {
	*auditinternal.Event
	bytes int64
}

// New starts a queue. It must be closed.
func New(c Config) *Queue {
	q := &Queue{config: c, events: make(chan sizedEvent, c.Events), done: make(chan struct{})}
	q.life, q.end = context.WithCancel(context.Background())
	go q.run()
	return q
}

// Put queues a copy of an event, because the original still changes. If there is no room, the event is lost.
func (q *Queue) Put(e *auditinternal.Event) {
	if err := q.put(e); err != nil {
		q.config.Lost(err, 1)
	}
}

func (q *Queue) put(e *auditinternal.Event) error {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		return errClosed
	}
	size := sizeOf(e)
	if q.held.Add(size) > q.config.Bytes {
		q.held.Add(-size)
		return errFull
	}
	select {
	case q.events <- sizedEvent{copyOf(e), size}:
		return nil
	default:
		q.held.Add(-size)
		return errFull
	}
}

// copyOf copies an event except for the bytes of its objects, which never change.
func copyOf(e *auditinternal.Event) *auditinternal.Event {
	small := *e
	small.RequestObject, small.ResponseObject = nil, nil
	out := small.DeepCopy()
	out.RequestObject, out.ResponseObject = e.RequestObject, e.ResponseObject
	return out
}

// eventBytes is the approximate size of an event without its texts of variable length, and textBytes that of a text in
// a list without its characters.
const eventBytes, textBytes = 1024, 16

// sizeOf estimates the memory of an event. It counts everything that a client may choose: a single request can name
// thousands of addresses in X-Forwarded-For.
func sizeOf(e *auditinternal.Event) int64 {
	size := eventBytes + len(e.RequestURI) + len(e.UserAgent) + len(e.Verb) + sizeOfTexts(e.SourceIPs) + sizeOfUser(&e.User)
	if e.ImpersonatedUser != nil {
		size += sizeOfUser(e.ImpersonatedUser)
	}
	for k, v := range e.Annotations {
		size += len(k) + len(v)
	}
	if of := e.ObjectRef; of != nil {
		size += len(of.Namespace) + len(of.Name) + len(of.Resource) + len(of.Subresource) + len(of.APIGroup) + len(of.APIVersion)
	}
	if status := e.ResponseStatus; status != nil {
		size += len(status.Message)
		if details := status.Details; details != nil {
			size += len(details.Name)
			for i := range details.Causes {
				size += 3*textBytes + len(details.Causes[i].Message) + len(details.Causes[i].Field)
			}
		}
	}
	if e.RequestObject != nil {
		size += len(e.RequestObject.Raw)
	}
	if e.ResponseObject != nil {
		size += len(e.ResponseObject.Raw)
	}
	return int64(size)
}

func sizeOfUser(u *authenticationv1.UserInfo) int {
	size := len(u.Username) + len(u.UID) + sizeOfTexts(u.Groups)
	for k, values := range u.Extra {
		size += textBytes + len(k) + sizeOfTexts(values)
	}
	return size
}

func sizeOfTexts(texts []string) (size int) {
	for _, text := range texts {
		size += textBytes + len(text)
	}
	return size
}

// run sends batches until the queue is closed and empty, or its context ends.
func (q *Queue) run() {
	defer close(q.done)
	defer q.senders.Wait()
	limit := rate.Inf
	if q.config.Rate > 0 {
		limit = rate.Limit(q.config.Rate)
	}
	throttle := rate.NewLimiter(limit, q.config.Burst)
	slots := make(chan struct{}, q.config.Senders)
	var next *sizedEvent // the event that did not fit into the previous batch
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

func (b *batch) add(e sizedEvent) {
	b.events = append(b.events, e.Event)
	b.bytes += e.bytes
}

// collect makes a batch that begins with first. If an event does not fit into it any more, collect returns that event
// as next.
func (q *Queue) collect(first sizedEvent) (b batch, next *sizedEvent) {
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
			return b, nil // the queue is closed, so no event will come
		}
		if q.config.BatchBytes > 0 && b.bytes+e.bytes > q.config.BatchBytes {
			return b, &e
		}
		b.add(e)
	}
	return b, nil
}

// ready returns an event that is queued already. wait is true if there is none yet.
func (q *Queue) ready() (e sizedEvent, ok, wait bool) {
	select {
	case e, ok = <-q.events:
		return e, ok, false
	default:
		return e, false, true
	}
}

// begin sends a batch as soon as fewer than Senders are on their way. It returns false if the queue's context has
// ended.
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

// lose counts all remaining events as lost. The queue is closed.
func (q *Queue) lose(b batch, next *sizedEvent) {
	lost := len(b.events)
	if next != nil {
		lost++
	}
	for range q.events {
		lost++
	}
	q.config.Lost(errTooLate, lost)
}

// afterwards is the time that batches have to end once Close no longer waits for their success.
const afterwards = time.Second

// Close takes no further events, sends the queued ones, and waits for that until ctx ends. It may be called once.
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
