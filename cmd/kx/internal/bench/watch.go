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

// watcher follows the collection, and tells from each event's object when it was written.
type watcher struct {
	seen *atomic.Int64 // by all
	took histogram
	rest []byte
	own  atomic.Int64
	err  error
}

// write takes a piece of the stream. It runs on the connection's reader.
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

// event notes one. Those of 0 were there before, or are the first of the run, which only says that the watch has begun.
func (w *watcher) event(sent, now int64) {
	w.own.Add(1)
	if sent > 0 {
		w.took.add(time.Duration(now - sent))
		w.seen.Add(1)
	}
}

// patience is how long nothing may arrive that is still expected.
const patience = 10 * time.Second

// fan is a fan-out under way.
type fan struct {
	*pass
	rate     int // writes a second; 0 is as many as go
	watchers []*watcher
	seen     atomic.Int64
	running  sync.WaitGroup
	stop     context.CancelFunc
}

// fanOut lets watchers follow what is written, and measures from the moment of sending a write to that when a watcher has
// its event.
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

// patchRate writes as a fan-out with a rate does, for nobody. What that costs is what a write itself does of a fan-out: a
// server that has little to do takes more for it than one that is busy.
func patchRate(_ context.Context, p *pass) (ready, error) {
	f := &fan{pass: p, rate: p.settings.Rate}
	return ready{f.writes, func(*tally) { f.running.Wait() }}, nil
}

// start starts the watchers and waits until each has got an event.
func (f *fan) start(ctx context.Context) error {
	watching, stop := context.WithCancel(ctx)
	f.stop = stop
	revision, err := revisionOf(ctx, f.client, f.collection())
	if err != nil {
		return err
	}
	// Watchers have connections of their own, so that they don't get in the way of writes.
	first := (f.settings.Concurrency/streamsEach + 1) * streamsEach
	for i := range f.settings.Watchers {
		w := &watcher{seen: &f.seen}
		f.watchers = append(f.watchers, w)
		f.running.Go(func() {
			_, w.err = f.send(watching, first+i, &request{method: http.MethodGet, path: f.collection() + "?watch=1&resourceVersion=" + revision, sink: w.write})
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

// write changes an object, and writes into it when.
func (f *fan) write(ctx context.Context, nth, n int, sent int64) (answer, error) {
	body := fmt.Appendf(nil, `{"spec":{"round":"%0*d","sent":"%0*d"}}`, roundDigits, f.round(), sentDigits, sent)
	return f.send(ctx, nth, &request{method: http.MethodPatch, contentType: "application/merge-patch+json", path: f.path(n), body: body})
}

// load writes until the time is up, and waits until all has arrived.
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

// pace gives a token for each write, so many a second. A server that is slower gets no more of them later.
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
				close(tokens) // lets those go that wait
				return
			}
		}
	})
	return tokens, stop
}

// await waits until the watchers have seen so many events, or nothing comes any more.
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

// end ends the watches and takes what they have measured.
func (f *fan) end(t *tally) {
	if t.failed > 0 && t.first == nil {
		t.first = fmt.Errorf("%d events did not arrive within %s", t.failed, patience)
	}
	f.stop()
	f.running.Wait()
	for _, w := range f.watchers {
		t.took.merge(&w.took)
		if !errors.Is(w.err, context.Canceled) {
			t.first = w.err // why they did not
		}
	}
}
