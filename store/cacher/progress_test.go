package cacher

import (
	"context"
	"testing"
	"time"
)

// TestProgressIsShared: who comes while etcd is being asked waits for its answer, and then for one that is begun after
// they all came.
func TestProgressIsShared(t *testing.T) {
	timeIsUp := make(chan time.Time, 1)
	timeIsUp <- time.Now()
	for name, c := range map[string]struct {
		came, answered, stopped bool
		retry                   <-chan time.Time
		again                   bool
		left                    int // how many signals of waiters are for the next question
	}{
		"one came, and no answer":     {came: true, stopped: true, left: 1},
		"an answer, and nobody came":  {answered: true, stopped: true},
		"one came, and an answer":     {came: true, answered: true, again: true},
		"one came, and no answer yet": {came: true, retry: timeIsUp, again: true, left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			cacher := &Cacher{progress: make(chan struct{}, 1), answered: make(chan struct{}, 1)}
			var cancel context.CancelFunc
			cacher.ctx, cancel = context.WithCancel(t.Context())
			defer cancel()
			if c.came {
				cacher.requestProgress()
				cacher.requestProgress() // another one, who shares
			}
			if c.answered {
				cacher.progressCame()
			}
			if c.stopped {
				cancel()
			}
			if again := cacher.awaitProgress(c.retry); again != c.again || len(cacher.progress) != c.left {
				t.Errorf("%v, and %d are left", again, len(cacher.progress))
			}
		})
	}
}
