package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
)

// recorder is who gets batches.
type recorder struct {
	mu      sync.Mutex
	batches [][]string
	lost    map[error]int
	// hold, if it is not nil, holds each batch until it is closed or nobody waits any more.
	hold chan struct{}
	busy atomic.Int64
	most atomic.Int64
}

func (r *recorder) send(ctx context.Context, events []*auditinternal.Event) {
	now := r.busy.Add(1)
	defer r.busy.Add(-1)
	for most := r.most.Load(); now > most && !r.most.CompareAndSwap(most, now); most = r.most.Load() {
	}
	if r.hold != nil {
		select {
		case <-r.hold:
		case <-ctx.Done():
			r.lose(ctx.Err(), len(events))
			return
		}
	}
	var ids []string
	for _, e := range events {
		ids = append(ids, string(e.AuditID))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches = append(r.batches, ids)
}

func (r *recorder) lose(err error, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost == nil {
		r.lost = map[error]int{}
	}
	r.lost[err] += n
}

func (r *recorder) counts() (sent, lost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.batches {
		sent += len(b)
	}
	for _, n := range r.lost {
		lost += n
	}
	return sent, lost
}

func begin(r *recorder, c Config) *Queue {
	c.Send, c.Lost = r.send, r.lose
	if c.Bytes == 0 {
		c.Bytes = 1 << 30
	}
	if c.Senders == 0 {
		c.Senders = 1
	}
	return New(c)
}

func event(id string, bytes int) *auditinternal.Event {
	e := &auditinternal.Event{AuditID: types.UID(id), Annotations: map[string]string{}}
	if bytes > 0 {
		e.RequestObject = &runtime.Unknown{Raw: make([]byte, bytes)}
	}
	return e
}

// TestBatches: batches are full, or their time is up, or they are too large. They come in order.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		q := begin(r, Config{Events: 100, BatchEvents: 3, BatchBytes: 100 << 10, Wait: 30 * time.Second})
		for i := range 4 {
			q.Put(event(fmt.Sprint(i), 0))
		}
		synctest.Wait()
		r.mu.Lock()
		if got := fmt.Sprint(r.batches); got != "[[0 1 2]]" {
			t.Errorf("a full batch: %s", got)
		}
		r.mu.Unlock()
		time.Sleep(29 * time.Second)
		if sent, _ := r.counts(); sent != 3 {
			t.Errorf("%d were sent early", sent)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if sent, _ := r.counts(); sent != 4 {
			t.Errorf("%d were sent in time", sent)
		}
		for i := range 3 {
			q.Put(event(fmt.Sprint("large", i), 60<<10))
		}
		if err := q.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := fmt.Sprint(r.batches, r.lost); got != "[[0 1 2] [3] [large0] [large1] [large2]] map[]" {
			t.Error(got)
		}
		q.Put(event("late", 0))
		if r.lost[errClosed] != 1 {
			t.Errorf("after the end: %v", r.lost)
		}
	})
}

// TestCopies: what the request changes later is not what is sent.
func TestCopies(t *testing.T) {
	hold := make(chan struct{})
	var got *auditinternal.Event
	q := New(Config{Events: 1, Bytes: 1 << 20, BatchEvents: 1, Senders: 1, Lost: func(err error, _ int) { t.Error(err) },
		Send: func(_ context.Context, events []*auditinternal.Event) { <-hold; got = events[0] }})
	e := event("a", 5)
	q.Put(e)
	e.Annotations["later"], e.RequestObject = "x", nil
	close(hold)
	if err := q.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if len(got.Annotations) != 0 || len(got.RequestObject.Raw) != 5 {
		t.Errorf("got %v %v", got.Annotations, got.RequestObject)
	}
}

// TestHang: while nothing can be sent, requests go on, what waits is bounded, and each loss is counted. Then all that waited is sent.
func TestHang(t *testing.T) {
	for _, tc := range []struct {
		name        string
		c           Config
		bytes, sent int
	}{
		{"events", Config{Events: 50, BatchEvents: 10, Senders: 3}, 0, 50 + 3 + 1},
		{"bytes", Config{Events: 5000, BatchEvents: 10, Senders: 3, Bytes: 64 * (eventBytes + 1000)}, 1000, 64},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{hold: make(chan struct{})}
				q := begin(r, tc.c)
				started := time.Now()
				for i := range 300 {
					q.Put(event(fmt.Sprint(i), tc.bytes))
					synctest.Wait()
				}
				if time.Since(started) != 0 {
					t.Error("a request waited")
				}
				if n := r.busy.Load(); n != 3 {
					t.Errorf("%d batches are on their way", n)
				}
				close(r.hold)
				if err := q.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if sent, lost := r.counts(); sent != tc.sent || lost != 300-tc.sent || r.lost[errFull] != lost {
					t.Errorf("%d were sent and %d lost: %v", sent, lost, r.lost)
				}
				if held := q.held.Load(); held != 0 {
					t.Errorf("%d bytes are held in the end", held)
				}
			})
		})
	}
}

// TestTextsOfClients: all that a client may choose counts, wherever the event has it.
func TestTextsOfClients(t *testing.T) {
	const many = 5000
	texts, text := slices.Repeat([]string{"192.0.2.1"}, many), strings.Repeat("x", many)
	who := authenticationv1.UserInfo{Groups: texts}
	for name, e := range map[string]*auditinternal.Event{
		"addresses":              {SourceIPs: texts},
		"groups":                 {User: who},
		"groups of another user": {ImpersonatedUser: &who},
		"more of another user":   {ImpersonatedUser: &authenticationv1.UserInfo{Extra: map[string]authenticationv1.ExtraValue{"a": texts}}},
		"a method":               {Verb: text},
		"a name":                 {ObjectRef: &auditinternal.ObjectReference{Name: text}},
		"a message":              {ResponseStatus: &metav1.Status{Message: text}},
	} {
		if size := sizeOf(e); size < eventBytes+many {
			t.Errorf("%s: %d bytes", name, size)
		}
	}
}

// TestCloseInTime: a server that stops does not wait for ever, and what it can't send is counted.
func TestCloseInTime(t *testing.T) {
	for name, c := range map[string]Config{
		"hangs":     {Events: 100, BatchEvents: 7, Senders: 2},
		"throttled": {Events: 100, BatchEvents: 7, Senders: 2, Rate: 0.01, Burst: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{hold: make(chan struct{})}
				if name == "throttled" {
					close(r.hold)
				}
				q := begin(r, c)
				for i := range 60 {
					q.Put(event(fmt.Sprint(i), 0))
				}
				started := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				if err := q.Close(ctx); err != nil {
					t.Error(err)
				}
				if took := time.Since(started); took != 10*time.Second {
					t.Errorf("it took %v", took)
				}
				if sent, lost := r.counts(); sent+lost != 60 || r.lost[errTooLate] == 0 {
					t.Errorf("%d were sent, and lost were %v", sent, r.lost)
				}
			})
		})
	}
}

// TestStuck: a batch that does not even end when it is told to is left behind.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		q := New(Config{Events: 1, Bytes: 1 << 20, BatchEvents: 1, Senders: 1, Lost: func(error, int) {},
			Send: func(context.Context, []*auditinternal.Event) { <-stuck }})
		q.Put(event("a", 0))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		started := time.Now()
		if err := q.Close(ctx); err == nil || !strings.Contains(err.Error(), "still being written") || time.Since(started) != afterwards {
			t.Errorf("after %v: %v", time.Since(started), err)
		}
		close(stuck)
	})
}

// TestThrottle: batches go out at the rate, after a burst.
func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		q := begin(r, Config{Events: 100, BatchEvents: 1, Rate: 10, Burst: 5})
		for i := range 25 {
			q.Put(event(fmt.Sprint(i), 0))
		}
		started := time.Now()
		if err := q.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(started); took < 1999*time.Millisecond || took > 2001*time.Millisecond {
			t.Errorf("20 batches beyond the burst took %v at 10 a second", took)
		}
	})
}

// TestTogether puts from many goroutines while the queue closes: each event is sent once, or counted as lost.
func TestTogether(t *testing.T) {
	r := &recorder{}
	q := begin(r, Config{Events: 64, BatchEvents: 5, Senders: 4})
	var running sync.WaitGroup
	for range 16 {
		running.Go(func() {
			for i := range 500 {
				q.Put(event(fmt.Sprint(i), 10))
			}
		})
	}
	for sent := 0; sent < 100; sent, _ = r.counts() {
	}
	if err := q.Close(t.Context()); err != nil {
		t.Error(err)
	}
	running.Wait()
	sent, lost := r.counts()
	if sent+lost != 16*500 || r.most.Load() > 4 {
		t.Errorf("%d were sent and %d lost, with %d batches at once: %v", sent, lost, r.most.Load(), r.lost)
	}
	for err := range r.lost {
		if !errors.Is(err, errFull) && !errors.Is(err, errClosed) {
			t.Error(err)
		}
	}
}
