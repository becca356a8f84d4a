package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3"
)

const (
	// shortestRetry and longestRetry limit the pause between attempts at one key.
	shortestRetry = 20 * time.Millisecond
	longestRetry  = 5 * time.Minute
	// longestWork limits one attempt.
	longestWork = time.Minute
)

// ErrLater means that it is too early for the task. It is retried like a failure, but does not count as one.
var ErrLater = errors.New("it is too early for this")

// after is the pause until the next look at a key.
type after time.Duration

func (a after) Error() string { return "it is looked at again in " + time.Duration(a).String() }

// After returns an error that schedules another look at a key after some time, with the same cause. It is no
// failure.
func After(d time.Duration) error { return after(d) }

// Loop works on keys that are added to it. mu guards waiting, working, failing and last.
type Loop[K comparable] struct {
	name    string
	workers int
	do      func(ctx context.Context, key K, cause int64) error
	gate    *etcd3.Gate
	log     *slog.Logger
	counts  *Counts
	queue   workqueue.TypedRateLimitingInterface[K]

	mu      sync.Mutex
	waiting map[K]queuedKey
	working int
	failing map[K]string
	// last is the last error of the keys that still fail.
	last string
}

// queuedKey holds the cause of a waiting key, and the start of its wait.
type queuedKey struct {
	cause int64
	since time.Time
}

// State is the present state of a loop.
type State struct {
	// Waiting counts keys in the queue, Working those in work, and Failing those whose last attempt failed.
	Waiting, Working, Failing int
	// Error is the error of the last attempt that failed.
	Error string
}

// NewLoop creates a loop with a number of workers. It does nothing until it runs. A cause of 0 means that the
// cause is unknown.
func NewLoop[K comparable](name string, workers int, kit *Kit,
	do func(ctx context.Context, key K, cause int64) error) *Loop[K] {
	return &Loop[K]{
		name: name, workers: workers, do: do, gate: kit.Gate, log: kit.Log, counts: kit.Metrics.Counts(name),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[K](shortestRetry, longestRetry)),
		waiting: map[K]queuedKey{}, failing: map[K]string{},
	}
}

// Add queues a key, with a revision as its cause.
func (l *Loop[K]) Add(key K, cause int64) {
	l.wait(key, cause, time.Now())
	l.queue.Add(key)
}

// AddAfter queues a key after some time.
func (l *Loop[K]) AddAfter(key K, cause int64, after time.Duration) {
	l.wait(key, cause, time.Now().Add(after))
	l.queue.AddAfter(key, after)
}

func (l *Loop[K]) wait(key K, cause int64, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok := l.waiting[key]
	if !ok || since.Before(w.since) {
		w.since = since
	}
	if cause != 0 {
		w.cause = cause
	}
	l.waiting[key] = w
	l.counts.Add(len(l.waiting))
}

// Run works until ctx ends, and returns when all workers have ended.
func (l *Loop[K]) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	context.AfterFunc(ctx, l.queue.ShutDown)
	for range l.workers {
		running.Go(func() { l.work(ctx) })
	}
}

func (l *Loop[K]) work(ctx context.Context) {
	for {
		key, over := l.queue.Get()
		if over {
			return
		}
		cause, began := l.take(key), time.Now()
		err := l.try(ctx, key, cause)
		l.counts.Finish(began)
		l.done(ctx, key, cause, err)
		l.queue.Done(key)
	}
}

// take begins an attempt.
func (l *Loop[K]) take(key K) (cause int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.waiting[key]
	delete(l.waiting, key)
	l.working++
	l.counts.Start(len(l.waiting), w.since)
	return w.cause
}

// try makes an attempt, which is a decision: its writes fail after a rewind. It recovers from a panic, which would
// end the process.
func (l *Loop[K]) try(ctx context.Context, key K, cause int64) (err error) {
	ctx, cancel := context.WithTimeout(ctx, longestWork)
	defer cancel()
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
		}
	}()
	return l.do(l.gate.Decide(ctx), key, cause)
}

// done ends an attempt.
func (l *Loop[K]) done(ctx context.Context, key K, cause int64, err error) {
	if wait, ok := err.(after); ok {
		l.AddAfter(key, cause, time.Duration(wait))
		err = nil
	}
	l.mu.Lock()
	l.working--
	if delete(l.failing, key); len(l.failing) == 0 {
		l.last = ""
	}
	fails := err != nil && ctx.Err() == nil
	later := errors.Is(err, ErrLater) || errors.Is(err, store.ErrRewound)
	if fails && !later {
		l.last = err.Error()
		l.failing[key] = l.last
	}
	l.mu.Unlock()
	if !fails {
		l.queue.Forget(key)
		return
	}
	l.counts.Retry(!later)
	l.wait(key, cause, time.Now())
	l.queue.AddRateLimited(key)
	if later {
		l.log.Debug("a controller will look again", "controller", l.name, "key", key, "error", err)
		return
	}
	l.log.Warn("a controller cannot do what it should: trying again", "controller", l.name, "key", key, "error", err)
}

// State returns the present state of the loop.
func (l *Loop[K]) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return State{Waiting: len(l.waiting), Working: l.working, Failing: len(l.failing), Error: l.last}
}
