package garbage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/admin"
)

const (
	// mostAtOnce is how many objects are worked on at a time: etcd syncs its disk once for writes that come together.
	mostAtOnce = 16
	// shortestPause and longestPause are between attempts at one object.
	shortestPause = 20 * time.Millisecond
	longestPause  = 5 * time.Minute
	// longestWork bounds one attempt.
	longestWork = time.Minute
)

// Config has what the controller needs.
type Config struct {
	Storages work.Storages
	// Etcd is what the storages keep their objects in, and Decoder knows the prefix of their keys and how values are encrypted.
	Etcd    *admin.Live
	Decoder *admin.Decoder
	// Journeys (optional) records the writes.
	Journeys *trace.Recorder
	Log      *slog.Logger
}

// Controller is the garbage collector.
type Controller struct {
	storages work.Storages
	etcd     *admin.Live
	decoder  *admin.Decoder
	// prefix begins all keys and ends in a slash.
	prefix   string
	journeys *trace.Recorder
	log      *slog.Logger
	queue    workqueue.TypedRateLimitingInterface[task]
	targets  targets
	absent   absent
	effects  effects

	// mu guards what follows.
	mu    sync.Mutex
	index *index
	round uint32
	// revision is that of the change at hand, and causes are those that woke what is queued.
	revision int64
	causes   map[id]int64
	// unserved are the objects with owners of kinds that are not served, and unreadable the keys whose values can't be read.
	unserved   map[id]bool
	unreadable map[string]bool
}

// task is something to do about the object with a UID. Other is the UID of the owner that it is about, if it is about one.
type task struct {
	what       what
	uid, other id
}

type what uint8

const (
	// collect deletes an object if it is garbage, and drops references to owners that are gone.
	collect what = iota
	// release drops the references to an object that is being deleted, and orphans its dependents.
	release
	// tell makes the event about a reference into another namespace.
	tell
)

// New makes a controller, which does nothing until it runs.
func New(config Config) *Controller {
	c := &Controller{
		storages: config.Storages, etcd: config.Etcd, decoder: config.Decoder, journeys: config.Journeys, log: config.Log,
		prefix: strings.TrimSuffix(config.Decoder.Prefix, "/") + "/",
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[task](shortestPause, longestPause)),
		index: newIndex(), causes: map[id]int64{}, unserved: map[id]bool{}, unreadable: map[string]bool{},
	}
	c.index.wake = func(n *node) { c.add(task{collect, n.uid, id{}}) }
	c.index.release = func(n *node) { c.add(task{release, n.uid, id{}}) }
	c.index.invalid = func(n *node, owner id) { c.add(task{tell, n.uid, owner}) }
	return c
}

// add queues a task because of the change at hand. The caller holds mu.
func (c *Controller) add(t task) {
	if c.revision != 0 {
		c.causes[t.uid] = c.revision
	}
	c.queue.Add(t)
}

// Run works until ctx ends, and returns when all has ended.
func (c *Controller) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	context.AfterFunc(ctx, c.queue.ShutDown)
	for range mostAtOnce {
		running.Go(func() { c.work(ctx) })
	}
	c.follow(ctx)
}

// work does one task after the other.
func (c *Controller) work(ctx context.Context) {
	for {
		t, over := c.queue.Get()
		if over {
			return
		}
		c.mu.Lock()
		cause := c.causes[t.uid]
		c.mu.Unlock()
		err := c.try(ctx, t)
		if err == nil {
			c.queue.Forget(t)
			c.mu.Lock()
			delete(c.unserved, t.uid)
			if c.causes[t.uid] == cause {
				delete(c.causes, t.uid)
			}
			c.mu.Unlock()
		} else if ctx.Err() == nil {
			c.failed(t, err)
		}
		c.queue.Done(t)
	}
}

func (c *Controller) failed(t task, err error) {
	c.queue.AddRateLimited(t)
	if errors.Is(err, errUnserved) {
		c.mu.Lock()
		c.unserved[t.uid] = true
		c.mu.Unlock()
	}
	if errors.Is(err, errUnserved) || errors.Is(err, errChanged) {
		c.log.Debug("the garbage collector will look again", "error", err)
		return
	}
	c.log.Warn("the garbage collector cannot do what it should: trying again", "error", err)
}

// try does a task. It recovers from a panic, which would end the process.
func (c *Controller) try(ctx context.Context, t task) (err error) {
	ctx, cancel := context.WithTimeout(ctx, longestWork)
	defer cancel()
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
		}
	}()
	switch t.what {
	case release:
		return c.release(ctx, t.uid)
	case tell:
		return c.tell(ctx, t.uid, t.other)
	}
	return c.collect(ctx, t.uid)
}
