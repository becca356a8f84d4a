package namespace

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/kx-apiserver/kx/server/controller/work"
)

const (
	// settle is how long a namespace has been ending before its content is deleted. Admission refuses creates 20 ms
	// after the deletion at the latest, since concurrent creates may share one read of the namespace for so long. A
	// create that was admitted just before reaches etcd much faster than settle. Upstream, whose admission reads a
	// cache, waits 5 s.
	settle = work.ShortestPause
	// mostAtOnce is how many namespaces are emptied at a time for the first time, how many are looked at again, and how
	// many that take long.
	mostAtOnce = 4
	// quickAttempt bounds an attempt that holds up others, and longestAttempt one at a namespace that has taken longer
	// than that: a webhook that does not answer holds up its namespace for half a minute.
	quickAttempt   = 5 * time.Second
	longestAttempt = time.Minute
	// patience is how long the next namespace waits for an attempt. One that takes longer goes on beside it, for what
	// takes long waits for others: there are mostBeside of them.
	patience   = 200 * time.Millisecond
	mostBeside = 256
	// soon is how many times a namespace is looked at again whatever the others need. After that, all of them have
	// perSecond looks together: thousands that nobody lets end cost no more than a few do.
	soon      = 5
	perSecond = 50
)

// ending is a namespace that is being deleted. It is in one of the queues, or it is being worked on.
type ending struct {
	name string
	// since is when it began to wait.
	since time.Time
	// left are the resources of which something remained after the last attempt. Nil stands for all.
	left map[schema.GroupResource]bool
	// working says that it is being worked on, and failure why that failed last. The controller's mu guards them.
	working bool
	failure string
	// incomplete says that not all resources were known then.
	incomplete bool
}

// pauses says when to look at a namespace again.
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

// see queues an ending namespace that has our finalizer, unless it is known.
func (c *Controller) see(ns *corev1.Namespace) {
	if ns.DeletionTimestamp == nil || len(ns.Spec.Finalizers) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending[ns.UID] == nil {
		c.ending[ns.UID] = &ending{name: ns.Name, since: time.Now()}
		c.counts.Added(c.waiting())
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

// waiting is how many namespaces nobody works on, but for some that have just gone. The caller holds mu.
func (c *Controller) waiting() int { return max(0, len(c.ending)-c.working) }

// work empties one namespace of a queue after the other. Those that did not end at once have a queue of their own, and
// so have those whose last attempt was cut off: they may take long, and delay no others.
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

// await waits for the end of an attempt, or until there is room for it beside the others.
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

// take works on a namespace, if that is still needed.
func (c *Controller) take(uid types.UID, longest time.Duration) {
	c.mu.Lock()
	e, term := c.ending[uid], c.term
	if e != nil && term != nil {
		e.working = true
		c.working++
		c.counts.Taken(c.waiting(), e.since)
	}
	c.mu.Unlock()
	switch {
	case e == nil:
		c.dropPauses(uid) // it went while it waited
	case term != nil:
		c.workOn(term, uid, e, longest)
	}
}

func (c *Controller) workOn(term context.Context, uid types.UID, e *ending, longest time.Duration) {
	began := time.Now()
	done, err := c.attempt(term, uid, e, longest)
	c.counts.Worked(began)
	c.mu.Lock()
	e.since = time.Now()
	c.working--
	if e.working, e.failure = false, ""; err != nil && term.Err() == nil {
		e.failure = err.Error()
	}
	c.mu.Unlock()
	switch {
	case term.Err() != nil:
	case done:
		c.forget(uid)
	default:
		c.counts.Again(err != nil)
		if err != nil {
			c.log.Warn("cannot empty a namespace that is being deleted: trying again", "namespace", e.name, "error", err)
		}
		if time.Since(began) >= quickAttempt {
			c.slow.AddRateLimited(uid)
		} else {
			c.again.AddRateLimited(uid)
		}
	}
}

// attempt makes one attempt. It recovers from a panic, which would end the process.
func (c *Controller) attempt(term context.Context, uid types.UID, e *ending, longest time.Duration) (done bool, err error) {
	ctx, cancel := context.WithTimeout(term, longest)
	defer cancel()
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
		}
	}()
	return c.empty(ctx, uid, e)
}
