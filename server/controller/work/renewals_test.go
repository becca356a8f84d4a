package work_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/server/controller/work"
)

// renewable is an authority that can be renewed.
type renewable struct {
	mu      sync.Mutex
	renewed chan struct{}
}

func (r *renewable) get() ([]byte, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return nil, r.renewed
}

func (r *renewable) renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.renewed)
	r.renewed = make(chan struct{})
}

// TestRenewals: each of two hears of a renewal before it runs and of one after it, and tries again what fails.
func TestRenewals(t *testing.T) {
	authority := &renewable{renewed: make(chan struct{})}
	kit := &work.Kit{ServerCA: authority.get, Log: slog.New(slog.DiscardHandler)}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	both := []*work.Renewals{kit.Renewals(), kit.Renewals()}
	authority.renew()
	heard := make(chan int)
	for i, renewals := range both {
		failed := false
		running.Go(func() {
			renewals.Run(ctx, func(context.Context) error {
				if !failed {
					failed = true
					return errors.New("not yet")
				}
				select {
				case heard <- i:
				case <-ctx.Done():
				}
				return nil
			})
		})
	}
	for _, when := range []string{"before they ran", "while they ran"} {
		var times [2]int
		for range both {
			select {
			case i := <-heard:
				times[i]++
			case <-time.After(patience):
				t.Fatalf("%v of them heard of the renewal %s", times, when)
			}
		}
		if times != [2]int{1, 1} {
			t.Fatalf("they heard of the renewal %s %v times", when, times)
		}
		authority.renew()
	}
}
