package namespace

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store"
)

const (
	// settle is the time from the deletion of a namespace to that of its content. kx creates nothing in a namespace
	// after its deletion, but a storage of one's own may: between the read of the namespace and the write. That is
	// much less than settle. Upstream, whose admission reads a cache, waits 5 s.
	settle = work.ShortestPause
	// mostAtOnce is the number of workers of each queue.
	mostAtOnce = 4
	// quickAttempt limits an attempt that holds up others. longestAttempt limits one at a namespace that has
	// taken longer than that: a webhook that does not answer holds up its namespace for half a minute.
	quickAttempt   = 5 * time.Second
	longestAttempt = time.Minute
	// patience is the time that the next namespace waits for an attempt. A longer attempt goes on beside the
	// next: it takes long because it waits for other servers. At most mostBeside do.
	patience   = 200 * time.Millisecond
	mostBeside = 256
	// soon limits the attempts at a namespace that do not count against the others. After that, all namespaces
	// share perSecond attempts: thousands that can't end cost no more than a few.
	soon      = 5
	perSecond = 50
)

// endingNamespace is a namespace that is being deleted. It is in one of the queues, or is being worked on.
type endingNamespace struct {
	name string
	// since is the start of its wait.
	since time.Time
	// left holds the resources with remaining objects after the last attempt. Nil stands for all.
	left map[schema.GroupResource]bool
	// working means that it is being worked on, and failure is its last error. The controller's mu guards them.
	working bool
	failure string
	// incomplete means that not all resources were known then.
	incomplete bool
}

// pauses computes the pause before the next attempt at a namespace.
type pauses struct {
	workqueue.TypedRateLimiter[types.UID]
	shared *workqueue.TypedBucketRateLimiter[types.UID]
}

func newPauses() *pauses {
	return &pauses{
		workqueue.NewTypedItemExponentialFailureRateLimiter[types.UID](work.ShortestPause, work.LongestPause),
		&workqueue.TypedBucketRateLimiter[types.UID]{Limiter: rate.NewLimiter(perSecond, perSecond)},
	}
}

func (p *pauses) When(uid types.UID) time.Duration {
	pause := p.TypedRateLimiter.When(uid)
	if p.NumRequeues(uid) > soon {
		pause = max(pause, p.shared.When(uid))
	}
	return pause
}

// see queues an ending namespace that has our finalizer, unless it is already known.
func (c *Controller) see(ns *corev1.Namespace) {
	if ns.DeletionTimestamp == nil || len(ns.Spec.Finalizers) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending[ns.UID] == nil {
		c.ending[ns.UID] = &endingNamespace{name: ns.Name, since: time.Now()}
		c.counts.Add(c.queueLength())
		if c.term != nil {
			c.fresh.AddAfter(ns.UID, settle)
		}
	}
}

// forget drops a namespace that is gone or no longer ours.
func (c *Controller) forget(uid types.UID) {
	c.dropPauses(uid)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ending, uid)
}

func (c *Controller) dropPauses(uid types.UID) {
	c.again.Forget(uid)
	c.slow.Forget(uid)
}

// queueLength returns the approximate number of waiting namespaces: it may include some that have just gone. The
// caller holds mu.
func (c *Controller) queueLength() int { return max(0, len(c.ending)-c.working) }

// work empties the namespaces of a queue, one after the other. It starts the next one when an attempt ends, or
// takes longer than patience.
func (c *Controller) work(queue workqueue.TypedInterface[types.UID], longest time.Duration) {
	for {
		uid, over := queue.Get()
		if over {
			return
		}
		ended := make(chan struct{})
		c.running.Go(func() {
			defer close(ended)
			defer queue.Done(uid)
			c.take(uid, longest)
		})
		c.await(ended)
	}
}

// await waits for the end of an attempt, or until a slot beside the others is free.
func (c *Controller) await(ended <-chan struct{}) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ended:
		return
	case <-timer.C:
	}
	select {
	case <-ended:
	case c.beside <- struct{}{}:
		c.running.Go(func() {
			<-ended
			<-c.beside
		})
	}
}

// take works on a namespace, if it is still ending and this process may work. A namespace may be in several queues: a
// new term queues all, and attempts of the term before may go on or be due again. One attempt waits for the other.
func (c *Controller) take(uid types.UID, longest time.Duration) {
	c.mu.Lock()
	e, term := c.ending[uid], c.term
	busy := e != nil && e.working
	if e != nil && term != nil && !busy {
		e.working = true
		c.working++
		c.counts.Start(c.queueLength(), e.since)
	}
	c.mu.Unlock()
	switch {
	case e == nil:
		c.dropPauses(uid) // it went while it waited
	case busy:
		c.fresh.AddAfter(uid, settle)
	case term != nil:
		c.workOn(term, uid, e, longest)
	}
}

func (c *Controller) workOn(term context.Context, uid types.UID, e *endingNamespace, longest time.Duration) {
	began := time.Now()
	done, err := c.attempt(term, uid, e, longest)
	c.counts.Finish(began)
	c.mu.Lock()
	e.since = time.Now()
	c.working--
	rewound := errors.Is(err, store.ErrRewound)
	fails := err != nil && !rewound
	if e.working, e.failure = false, ""; fails && term.Err() == nil {
		e.failure = err.Error()
	}
	c.mu.Unlock()
	switch {
	case term.Err() != nil:
	case done:
		c.forget(uid)
		c.seeAgain(term, e.name)
	case rewound: // it says nothing about the namespace that the attempt took long, or failed
		c.dropPauses(uid)
		c.fresh.AddAfter(uid, settle)
	default:
		c.counts.Retry(fails)
		if fails {
			c.log.Warn("cannot empty a namespace that is being deleted: trying again", "namespace", e.name, "error", err)
		}
		if time.Since(began) >= quickAttempt {
			c.slow.AddRateLimited(uid)
		} else {
			c.again.AddRateLimited(uid)
		}
	}
}

// seeAgain looks at a namespace that has just been forgotten: after a rewind it is there with its old UID, and if it is
// deleted again before it is forgotten, the watch has told of that already.
func (c *Controller) seeAgain(ctx context.Context, name string) {
	if c.gate == nil || c.gate.Generation() == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, quickAttempt)
	defer cancel()
	if ns, err := c.get(ctx, name); err == nil {
		c.see(ns)
	}
}

// attempt makes one attempt, which is a decision: its writes fail after a rewind. It recovers from a panic, which
// would end the process.
func (c *Controller) attempt(term context.Context, uid types.UID, e *endingNamespace, longest time.Duration) (done bool, err error) {
	ctx, cancel := context.WithTimeout(term, longest)
	defer cancel()
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
		}
	}()
	return c.empty(c.gate.Decide(ctx), uid, e)
}
