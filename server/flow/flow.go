package flow

import (
	"context"
	"log/slog"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"

	"github.com/kx-apiserver/kx/server/controller/work"
)

// Config configures flow control.
type Config struct {
	// Seats limits the requests that run at once, apart from exempt ones.
	Seats int
	// Wait limits the wait for a seat of a request without a deadline, such as a watch. Other requests wait for up to a
	// quarter of their time. No request waits for more than a minute.
	Wait time.Duration
	Kit  *work.Kit
	// Sizes returns the number and the stored bytes of a resource's objects, as far as they are known without a query.
	Sizes func(schema.GroupResource) (items int, bytes int64)
	Log   *slog.Logger
}

// Control admits requests. mu guards levels and nominal.
type Control struct {
	kit           *work.Kit
	seats         int
	wait          time.Duration
	sizes         func(schema.GroupResource) (items int, bytes int64)
	log           *slog.Logger
	levelObjects  *follower[*flowcontrolv1.PriorityLevelConfiguration]
	schemaObjects *follower[*flowcontrolv1.FlowSchema]
	conditions    conditions
	watches       watches
	refusals      refusals
	sets          fairqueuing.QueueSetFactory
	// changed has a signal while objects may have changed since the last configuration.
	changed chan struct{}
	// rules are the flow schemas in force, in the order in which they are tried.
	rules atomic.Pointer[rules]

	mu     sync.Mutex
	levels map[string]*level
	// nominal is the sum of the nominal seats of all levels.
	nominal int
}

// register adds the library's metrics to those of the process.
var register = sync.OnceFunc(metrics.Register)

// New returns a control with only the two mandatory levels, until it runs.
func New(config Config) (*Control, error) {
	register()
	c := &Control{
		kit: config.Kit, seats: config.Seats, wait: config.Wait, sizes: config.Sizes, log: config.Log,
		conditions: newConditions(config.Kit, config.Log),
		sets:       queueset.NewQueueSetFactory(eventclock.Real{}), changed: make(chan struct{}, 1), levels: map[string]*level{},
	}
	var err error
	c.levelObjects, err = newFollower[*flowcontrolv1.PriorityLevelConfiguration]("prioritylevelconfigurations", &config, c.signal)
	if err != nil {
		return nil, err
	}
	c.schemaObjects, err = newFollower[*flowcontrolv1.FlowSchema]("flowschemas", &config, c.signal)
	if err != nil {
		return nil, err
	}
	c.configure(nil, nil)
	return c, nil
}

// signal requests a new configuration.
func (c *Control) signal() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Run follows the objects until ctx ends. After it returns, nothing writes any more.
func (c *Control) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { c.levelObjects.feed.Run(ctx) })
	running.Go(func() { c.schemaObjects.feed.Run(ctx) })
	running.Go(func() { c.follow(ctx) })
	running.Go(func() { c.rebalance(ctx) })
	running.Wait()
}

// follow puts the objects into force whenever they change, and keeps the conditions of the schemas.
func (c *Control) follow(ctx context.Context) {
	var again <-chan time.Time
	for {
		select {
		case <-c.changed:
		case <-again:
		case <-ctx.Done():
			return
		}
		ctx := c.kit.Gate.Decide(ctx)
		levels, known := c.levelObjects.all()
		schemas, alsoKnown := c.schemaObjects.all()
		if !known || !alsoKnown {
			continue
		}
		again = nil
		if pause := c.conditions.write(ctx, c.configure(levels, schemas)); pause > 0 {
			again = time.After(pause)
		}
	}
}

// rebalance lends seats by what levels have needed lately, until ctx ends.
func (c *Control) rebalance(ctx context.Context) {
	ticker := time.NewTicker(lendingTime)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.mu.Lock()
			c.lend()
			c.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// ObjectRef identifies an object of flow control. A default that is not stored has no UID.
type ObjectRef struct {
	Name string
	UID  types.UID
}

// Request is a request to admit.
type Request struct {
	Context context.Context
	URL     *url.URL
	Info    *request.RequestInfo
	User    user.Info
}

// Entry describes the classification and admission of a request.
type Entry struct {
	Schema, Level ObjectRef
	// Flow distinguishes the flows of a schema: a user, a namespace, or nothing.
	Flow   string
	Exempt bool
	// Queues is true if requests of the level may wait.
	Queues bool
	// Seats is the number of seats that the request takes.
	Seats int
	// Waited is the time that the request spent in a queue, and Queue the number of the queue, -1 if it is unknown.
	Waited time.Duration
	Queue  int
	// RetryAfter is the number of seconds after which a refused client should try again.
	RetryAfter int64
}

// Take waits for a seat. It is nil if the request is refused. The caller gives it back with [Seat.Pause].
func (c *Control) Take(r Request) (e Entry, seat *Seat) {
	seat = &Seat{control: c, request: r}
	if seat.take(r.Context, &e, false) {
		return e, seat
	}
	e.RetryAfter = c.refusals.add(e.Level.Name, time.Now().Unix())
	return e, nil
}

// AddWatch counts a watch among those that writes notify, until forget is called.
func (c *Control) AddWatch(r Request) (forget func()) { return c.watches.add(r) }
