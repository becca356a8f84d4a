package work_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kx-apiserver/kx/server/controller/work"
)

// patience is how long a test waits for what must happen.
const patience = 5 * time.Minute

// looping runs a loop in which key "bad" panics or fails until it is told to be good.
type looping struct {
	*work.Loop[string]
	t       *testing.T
	reg     *prometheus.Registry
	did     chan string
	mu      sync.Mutex
	failure any
}

func (l *looping) be(failure any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure = failure
}

func startLoop(t *testing.T) *looping {
	t.Helper()
	l := &looping{t: t, reg: prometheus.NewRegistry(), did: make(chan string, 1000)}
	l.Loop = work.NewLoop("one", 2, &work.Kit{Metrics: work.NewMetrics(l.reg), Log: slog.New(slog.DiscardHandler)}, func(ctx context.Context, key string, cause int64) error {
		l.mu.Lock()
		failure := l.failure
		l.mu.Unlock()
		if key == "bad" {
			switch failure := failure.(type) {
			case error:
				return failure
			case string:
				panic(failure)
			}
		}
		if cause != 7 {
			return errors.New("its cause is lost")
		}
		l.did <- key
		return nil
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return l
}

func (l *looping) want(key string) {
	l.t.Helper()
	select {
	case did := <-l.did:
		if did != key {
			l.t.Errorf("it did %s, want %s", did, key)
		}
	case <-time.After(patience):
		l.t.Fatalf("it did not do %s: %+v", key, l.State())
	}
}

// until waits for a state, which no event tells.
func (l *looping) until(what string, yes func(work.State) bool) {
	l.t.Helper()
	for deadline := time.Now().Add(patience); !yes(l.State()); {
		if time.Now().After(deadline) {
			l.t.Fatalf("it did not come to pass that %s: %+v", what, l.State())
		}
		<-time.After(time.Millisecond) // leaves the processor to the loop
	}
}

// TestLoop has a key fail in each way while others are done, and then succeed because of what gave cause to it first.
func TestLoop(t *testing.T) {
	for name, failure := range map[string]any{"an error": errors.New("no way"), "a panic": "odd input"} {
		t.Run(name, func(t *testing.T) {
			l := startLoop(t)
			l.be(failure)
			l.Add("bad", 7)
			l.until("it fails", func(s work.State) bool { return s.Failing == 1 })
			if s := l.State(); !strings.Contains(s.Error, "no way") && !strings.Contains(s.Error, "odd input") {
				t.Errorf("%+v", s)
			}
			l.Add("good", 7)
			l.want("good")
			l.AddAfter("later", 7, time.Millisecond)
			l.want("later")
			l.be(nil)
			l.want("bad")
			l.until("nothing fails", func(s work.State) bool { return s == work.State{} })
			metrics, err := l.reg.Gather()
			if err != nil {
				t.Fatal(err)
			}
			counts := map[string]float64{}
			for _, m := range metrics {
				if c := m.GetMetric()[0].GetCounter(); c != nil {
					counts[m.GetName()] = c.GetValue()
				} else if h := m.GetMetric()[0].GetHistogram(); h != nil {
					counts[m.GetName()] = float64(h.GetSampleCount())
				}
			}
			if counts["kx_controller_errors_total"] < 1 || counts["workqueue_retries_total"] != counts["kx_controller_errors_total"] || counts["workqueue_adds_total"] < 4 ||
				counts["workqueue_work_duration_seconds"] != counts["workqueue_retries_total"]+3 || counts["workqueue_queue_duration_seconds"] != counts["workqueue_work_duration_seconds"] {
				t.Errorf("%v", counts)
			}
		})
	}
}

// TestLoopPauses: what fails is tried less and less often, and what gives new cause to it has it tried at once.
func TestLoopPauses(t *testing.T) { synctest.Test(t, testLoopPauses) }

func testLoopPauses(t *testing.T) {
	var attempts []time.Time
	l := work.NewLoop("one", 1, &work.Kit{Metrics: work.NewMetrics(nil), Log: slog.New(slog.DiscardHandler)}, func(context.Context, string, int64) error {
		attempts = append(attempts, time.Now())
		return errors.New("no way")
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Run(ctx)
	}()
	l.Add("key", 7)
	time.Sleep(time.Hour)
	synctest.Wait() // for the race detector: a sleep orders nothing
	pause, longest := 20*time.Millisecond, 5*time.Minute
	for i := range attempts[1:] {
		if got := attempts[i+1].Sub(attempts[i]); got != pause {
			t.Errorf("after attempt %d it waited for %v, and not for %v", i+1, got, pause)
		}
		pause = min(2*pause, longest)
	}
	if pause != longest {
		t.Errorf("after %d attempts it waits for %v", len(attempts), pause)
	}
	made := len(attempts)
	l.Add("key", 8)
	if synctest.Wait(); len(attempts) != made+1 {
		t.Errorf("new cause led to %d attempts", len(attempts)-made)
	}
	stop()
	<-ended
}

// TestLoopLater: what is too early is tried again, and is no failure.
func TestLoopLater(t *testing.T) {
	l := startLoop(t)
	l.be(errors.Join(work.ErrLater, errors.New("soon")))
	l.Add("bad", 7)
	l.until("it was tried", func(work.State) bool {
		metrics, _ := l.reg.Gather()
		for _, m := range metrics {
			if m.GetName() == "workqueue_retries_total" && m.GetMetric()[0].GetCounter().GetValue() > 1 {
				return true
			}
		}
		return false
	})
	if s := l.State(); s.Failing != 0 || s.Error != "" {
		t.Errorf("%+v", s)
	}
	l.be(nil)
	l.want("bad")
}

// TestLoopAfter: a key is tried again when its time comes, because of the same revision, and until then nothing fails.
func TestLoopAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts []time.Time
		l := work.NewLoop("one", 1, &work.Kit{Metrics: work.NewMetrics(nil), Log: slog.New(slog.DiscardHandler)}, func(_ context.Context, _ string, cause int64) error {
			if attempts = append(attempts, time.Now()); cause != 7 {
				t.Errorf("attempt %d is because of %d", len(attempts), cause)
			}
			return work.After(time.Hour)
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { l.Run(ctx) })
		l.Add("key", 7)
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(attempts) != 2 || attempts[1].Sub(attempts[0]) != time.Hour || l.State() != (work.State{Waiting: 1}) {
			t.Errorf("attempts at %v, and then %+v", attempts, l.State())
		}
		stop()
		running.Wait()
	})
}
