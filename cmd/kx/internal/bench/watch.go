package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// watcher watches the collection. Each event's object contains the time of its write.
type watcher struct {
	seen *atomic.Int64 // shared by all watchers
	took histogram
	rest []byte
	own  atomic.Int64
	err  error
}

// write handles a piece of the stream. It runs on the goroutine of the connection's reader.
func (w *watcher) write(data []byte) bool {
	now := time.Now().UnixNano()
	w.rest = append(w.rest, data...)
	at := 0
	for {
		i := bytes.Index(w.rest[at:], sentField)
		if i < 0 {
			at = max(at, len(w.rest)-len(sentField)+1)
			break
		}
		digits := at + i + len(sentField)
		if len(w.rest) < digits+sentDigits {
			at += i
			break
		}
		at = digits + sentDigits
		if sent, err := strconv.ParseInt(string(w.rest[digits:at]), 10, 64); err == nil {
			w.event(sent, now)
		}
	}
	w.rest = append(w.rest[:0], w.rest[at:]...)
	return true
}

// event counts an event. sent is 0 for objects from before the run, and for the first event, which only shows that the
// watch has begun.
func (w *watcher) event(sent, now int64) {
	w.own.Add(1)
	if sent > 0 {
		w.took.add(time.Duration(now - sent))
		w.seen.Add(1)
	}
}

// patience limits the wait for the next expected event.
const patience = 10 * time.Second

// fan is a running fan-out.
type fan struct {
	*pass
	rate     int // writes a second; 0 for no limit
	watchers []*watcher
	seen     atomic.Int64
	running  sync.WaitGroup
	stop     context.CancelFunc
}

// fanOut measures the time from sending a write to the arrival of its event at each watcher.
func fanOut(rate func(Settings) int) func(context.Context, *pass) (ready, error) {
	return func(ctx context.Context, p *pass) (ready, error) {
		f := &fan{pass: p, rate: rate(p.settings)}
		if err := f.start(ctx); err != nil {
			f.end(&tally{})
			return ready{}, err
		}
		return ready{f.load, f.end}, nil
	}
}

// patchRate writes at the rate of a fan-out, without watchers. So it measures the share of the writes in the cost of
// a fan-out. Figures of other operations would not do, since a server with little load needs more CPU for a write
// than a busy one.
func patchRate(_ context.Context, p *pass) (ready, error) {
	f := &fan{pass: p, rate: p.settings.Rate}
	return ready{f.writes, func(*tally) { f.running.Wait() }}, nil
}

// start starts the watchers and waits until each has received an event.
func (f *fan) start(ctx context.Context) error {
	watching, stop := context.WithCancel(ctx)
	f.stop = stop
	revision, err := revisionOf(ctx, f.client, f.collection())
	if err != nil {
		return err
	}
	// Watchers have their own connections, so that they don't delay writes.
	first := (f.settings.Concurrency/streamsEach + 1) * streamsEach
	for i := range f.settings.Watchers {
		w := &watcher{seen: &f.seen}
		f.watchers = append(f.watchers, w)
		f.running.Go(func() {
			_, w.err = f.send(watching, first+i,
				&request{method: http.MethodGet, path: f.collection() + "?watch=1&resourceVersion=" + revision, sink: w.write})
			if w.err == nil {
				w.err = errors.New("the server ended the watch")
			}
		})
	}
	if _, err := f.write(ctx, 0, 0, 0); err != nil {
		return err
	}
	return until(ctx, "all watches to begin", func() error {
		for _, w := range f.watchers {
			if w.own.Load() == 0 {
				return fmt.Errorf("of %d watchers one has got nothing", len(f.watchers))
			}
		}
		return nil
	})
}

// write changes an object and records the time in it.
func (f *fan) write(ctx context.Context, nth, n int, sent int64) (answer, error) {
	body := fmt.Appendf(nil, `{"spec":{"round":"%0*d","sent":"%0*d"}}`, roundDigits, f.round(), sentDigits, sent)
	return f.send(ctx, nth, &request{method: http.MethodPatch, contentType: "application/merge-patch+json", path: f.path(n), body: body})
}

// load writes until the time is up, and waits until all events have arrived.
func (f *fan) load(ctx context.Context) *tally {
	writes := f.writes(ctx)
	expected := writes.took.n * int64(len(f.watchers))
	f.await(ctx, expected)
	return &tally{units: f.seen.Load(), failed: writes.failed + max(0, expected-f.seen.Load()), first: writes.first}
}

// writes writes until the time is up.
func (f *fan) writes(ctx context.Context) *tally {
	workers := min(f.settings.Concurrency, f.left)
	pace, stopPace := f.pace(ctx)
	defer stopPace()
	return f.workers(ctx, workers, 0, func(ctx context.Context, w *worker, _ int) (answer, error) {
		if pace != nil {
			select {
			case <-pace:
			case <-ctx.Done():
			}
		}
		return f.write(ctx, w.nth, w.object(rand.Int64(), f.left, f.settings.Objects), time.Now().UnixNano())
	})
}

// pace returns a channel of tokens for writes at the rate. It drops tokens that a slow server misses.
func (f *fan) pace(ctx context.Context) (<-chan struct{}, func()) {
	if f.rate == 0 {
		return nil, func() {}
	}
	pacing, stop := context.WithCancel(ctx)
	tokens := make(chan struct{})
	f.running.Go(func() {
		ticker := time.NewTicker(time.Second / time.Duration(f.rate))
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				select {
				case tokens <- struct{}{}:
				default:
				}
			case <-pacing.Done():
				close(tokens) // wakes waiting workers
				return
			}
		}
	})
	return tokens, stop
}

// await waits until the watchers have received the expected number of events, or until no event has arrived for
// patience.
func (f *fan) await(ctx context.Context, expected int64) {
	last, since := int64(-1), time.Now()
	for ctx.Err() == nil {
		seen := f.seen.Load()
		if seen >= expected {
			return
		}
		if seen != last {
			last, since = seen, time.Now()
		} else if time.Since(since) > patience {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// end ends the watches and collects their measurements.
func (f *fan) end(t *tally) {
	if t.failed > 0 && t.first == nil {
		t.first = fmt.Errorf("%d events did not arrive within %s", t.failed, patience)
	}
	f.stop()
	f.running.Wait()
	for _, w := range f.watchers {
		t.took.merge(&w.took)
		if !errors.Is(w.err, context.Canceled) {
			t.first = w.err // the reason for missing events
		}
	}
}
