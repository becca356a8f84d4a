package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	storage "github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3"
)

// nameFailures maps the failed names of a batch to their errors.
type nameFailures map[string]error

// errLater requests another attempt soon. It is not a failure.
var errLater = errors.New("it is too early for this")

const (
	shortestPause = 5 * time.Millisecond
	longestPause  = 10 * time.Second
	// doublingsMost limits the exponent. The pause has reached its maximum by then.
	doublingsMost = 12
)

// queue holds the names of definitions that a controller has to examine.
//
// In comes a name at each change. Out goes a batch of names to the controller: at once if it is idle, and
// otherwise together with all names that arrive in the meantime. So 500 changes make a few dozen batches, and a
// batch surveys all definitions once.
//
// # Invariants
//
//  1. A name is in the queue once, however often it was added. So the queue is never longer than the number of
//     definitions.
//  2. A name that is added during its own batch is examined again.
//  3. A failure is retried after a pause that doubles each time. [errChanged] is no failure: the definition
//     has changed since, and that change adds the name again. Several processes on one etcd do the same work,
//     so this is frequent and not logged.
//  4. A write fails if the definition has changed since it was judged.
//  5. A batch is a decision: after a rewind its writes fail, and its names are examined again, which is no failure.
//  6. A write is a journey whose cause is the revision that was judged. It is never held or disturbed.
type queue struct {
	what string
	gate *etcd3.Gate
	log  *slog.Logger

	mu       sync.Mutex
	due      map[string]time.Time
	attempts map[string]int
	wake     chan struct{}
}

// newQueue creates an empty queue. Log messages say "cannot <what>" about a name that fails.
func newQueue(what string, gate *etcd3.Gate, log *slog.Logger) *queue {
	return &queue{what: what, gate: gate, log: log, due: map[string]time.Time{}, attempts: map[string]int{}, wake: make(chan struct{}, 1)}
}

// Add queues name for the next batch.
func (q *queue) Add(name string) { q.AddAfter(name, 0) }

// AddAfter queues name after a pause. A name that is due earlier stays so.
func (q *queue) AddAfter(name string, pause time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(name, time.Now().Add(pause))
}

// add requires q.mu.
func (q *queue) add(name string, at time.Time) {
	if before, ok := q.due[name]; ok && !at.Before(before) {
		return
	}
	q.due[name] = at
	select {
	case q.wake <- struct{}{}:
	default: // it has been called already
	}
}

// Run passes batches to the controller, one after the other, until ctx ends.
func (q *queue) Run(ctx context.Context, batch func(ctx context.Context, names []string) nameFailures) {
	timer := time.NewTimer(longestPause)
	defer timer.Stop()
	for ctx.Err() == nil {
		names, next := q.take(time.Now())
		if len(names) > 0 {
			q.done(ctx, names, call(q.gate.Decide(ctx), names, batch))
			continue
		}
		timer.Reset(next)
		select {
		case <-q.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// take returns the due names in the order of their times, or else the time until the next is due.
func (q *queue) take(now time.Time) (names []string, next time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	next = longestPause
	for name, at := range q.due {
		if wait := at.Sub(now); wait > 0 {
			next = min(next, wait)
			continue
		}
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(q.due[a].Compare(q.due[b]), strings.Compare(a, b)) })
	for _, name := range names {
		delete(q.due, name)
	}
	return names, next
}

// done records the results of a batch, which may have examined more names than it was given.
func (q *queue) done(ctx context.Context, names []string, failures nameFailures) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, name := range names {
		if failures[name] == nil {
			delete(q.attempts, name)
		}
	}
	for name, err := range failures {
		if errors.Is(err, errChanged) {
			delete(q.attempts, name)
			continue
		}
		pause := min(shortestPause<<min(q.attempts[name], doublingsMost), longestPause)
		q.attempts[name]++
		q.add(name, time.Now().Add(pause))
		if !errors.Is(err, errLater) && !errors.Is(err, storage.ErrRewound) && ctx.Err() == nil {
			q.log.Warn("cannot "+q.what+": trying again", "definition", name, "pause", pause, "error", err)
		}
	}
}

// call calls batch. It turns a panic, which would end the process, into a failure of all names.
func call(ctx context.Context, names []string, batch func(context.Context, []string) nameFailures) (failures nameFailures) {
	defer func() {
		if err := recovered(recover()); err != nil {
			failures = nameFailures{}
			for _, name := range names {
				failures[name] = err
			}
		}
	}()
	return batch(ctx, names)
}

func recovered(reason any) error {
	if reason == nil {
		return nil
	}
	return fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
}

// eachName calls f for each name, `most` at a time.
func eachName(names []string, most int, f func(name string) error) nameFailures {
	var group errgroup.Group
	group.SetLimit(most)
	errs := make([]error, len(names))
	for i, name := range names {
		group.Go(func() error {
			defer func() {
				if err := recovered(recover()); err != nil {
					errs[i] = err
				}
			}()
			errs[i] = f(name)
			return nil
		})
	}
	_ = group.Wait() // errs has them
	failures := nameFailures{}
	for i, err := range errs {
		if err != nil {
			failures[names[i]] = err
		}
	}
	return failures
}
