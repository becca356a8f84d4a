package work

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
)

// Failures maps the failed names of a batch to their errors.
type Failures map[string]error

// ErrLater requests another attempt soon. It is not a failure.
var ErrLater = errors.New("it is too early for this")

const (
	shortestPause = 5 * time.Millisecond
	longestPause  = 10 * time.Second
	// doublingsMost limits the exponent. The pause has reached its maximum by then.
	doublingsMost = 12
)

// Queue holds the names that a controller has yet to examine. mu guards due and attempts.
type Queue struct {
	what string
	log  *slog.Logger

	mu       sync.Mutex
	due      map[string]time.Time
	attempts map[string]int
	wake     chan struct{}
}

// NewQueue creates an empty queue. Log messages say "cannot <what>" about a name that fails.
func NewQueue(what string, log *slog.Logger) *Queue {
	return &Queue{what: what, log: log, due: map[string]time.Time{}, attempts: map[string]int{}, wake: make(chan struct{}, 1)}
}

// Add queues name for the next batch.
func (q *Queue) Add(name string) { q.AddAfter(name, 0) }

// AddAfter queues name after a pause. A name that is due earlier stays so.
func (q *Queue) AddAfter(name string, pause time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(name, time.Now().Add(pause))
}

// add requires q.mu.
func (q *Queue) add(name string, at time.Time) {
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
func (q *Queue) Run(ctx context.Context, batch func(ctx context.Context, names []string) Failures) {
	timer := time.NewTimer(longestPause)
	defer timer.Stop()
	for ctx.Err() == nil {
		names, next := q.take(time.Now())
		if len(names) > 0 {
			q.done(ctx, names, call(ctx, names, batch))
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
func (q *Queue) take(now time.Time) (names []string, next time.Duration) {
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
func (q *Queue) done(ctx context.Context, names []string, failures Failures) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, name := range names {
		if failures[name] == nil {
			delete(q.attempts, name)
		}
	}
	for name, err := range failures {
		if errors.Is(err, ErrChanged) {
			delete(q.attempts, name)
			continue
		}
		pause := min(shortestPause<<min(q.attempts[name], doublingsMost), longestPause)
		q.attempts[name]++
		q.add(name, time.Now().Add(pause))
		if !errors.Is(err, ErrLater) && ctx.Err() == nil {
			q.log.Warn("cannot "+q.what+": trying again", "definition", name, "pause", pause, "error", err)
		}
	}
}

// call calls batch. It turns a panic, which would end the process, into a failure of all names.
func call(ctx context.Context, names []string, batch func(context.Context, []string) Failures) (failures Failures) {
	defer func() {
		if err := recovered(recover()); err != nil {
			failures = Failures{}
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

// Each calls f for each name, `most` at a time.
func Each(names []string, most int, f func(name string) error) Failures {
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
	failures := Failures{}
	for i, err := range errs {
		if err != nil {
			failures[names[i]] = err
		}
	}
	return failures
}
