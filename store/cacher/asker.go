package cacher

import (
	"context"
	"sync"
	"time"

	"github.com/kx-apiserver/kx/core/trace"
)

// asker asks etcd for its revision. Callers that come while a request is under way share the answer to the next one:
// an answer is good for all callers that came before its request was sent. mu guards the fields below it.
type asker struct {
	ask func(context.Context) (uint64, error)
	// seen returns the revision that the cache has seen; etcd is never behind it.
	seen func() int64

	mu            sync.Mutex
	running, next *question
	// newest is the latest revision that etcd is known to have had, and when it was first known.
	newest   int64
	newestAt time.Time
	// back is called when etcd is at an earlier revision than it was.
	back func()
}

type question struct {
	done     chan struct{}
	revision int64
	err      error
}

// askLimit bounds a question that several wait for.
const askLimit = 10 * time.Second

// revision returns etcd's revision at some moment after the call. shared: other callers share the answer.
func (a *asker) revision(ctx context.Context) (revision int64, shared bool, err error) {
	a.mu.Lock()
	if a.running != nil {
		if a.next == nil {
			a.next = &question{done: make(chan struct{})}
		}
		q := a.next
		a.mu.Unlock()
		select {
		case <-q.done:
			return q.revision, true, q.err
		case <-ctx.Done():
			return 0, true, ctx.Err()
		}
	}
	q := &question{done: make(chan struct{})}
	a.running = q
	a.mu.Unlock()
	sharing := trace.BeginShared(ctx) // others wait for the answer
	a.put(ctx, q)
	sharing.End()
	return q.revision, false, q.err
}

// put sends a request, and starts the next one if callers came meanwhile.
func (a *asker) put(ctx context.Context, q *question) {
	before := a.seen()
	revision, err := a.ask(ctx)
	q.revision, q.err = int64(revision), err
	close(q.done)
	if err == nil {
		a.note(q.revision, before)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running, a.next = a.next, nil
	if next := a.running; next != nil {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), askLimit)
			defer cancel()
			a.put(ctx, next)
		}()
	}
}

// note notes etcd's revision, as of some moment after the cache had seen before. It says whether that can be: an etcd
// that was restored from a backup is at an earlier revision, and all that the cache has is of another history.
func (a *asker) note(revision, before int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	wentBack := revision < before
	if wentBack && a.back != nil {
		a.back()
	}
	if wentBack || revision > a.newest {
		a.newest, a.newestAt = revision, time.Now()
	}
	return !wentBack
}

// latest is the latest revision that etcd is known to have had, and since when.
func (a *asker) latest() (int64, time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.newest, a.newestAt
}

func (a *asker) setBack(back func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.back = back
}
