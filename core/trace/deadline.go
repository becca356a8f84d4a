package trace

import (
	"context"
	"sync"
	"time"
)

// Deadline is a context that ends after some time, not counting the time for which it is paused: a request that is held
// at a step should not die of it. Contexts derived from it end with it, with context.DeadlineExceeded as their cause.
type Deadline struct {
	context.Context
	cancel context.CancelCauseFunc
	// onExpire runs when the time is up, and never once Stop has returned.
	onExpire func()

	mu      sync.Mutex
	timer   *time.Timer
	until   time.Time
	paused  time.Duration // what was left when it was paused; 0 while it runs
	stopped bool
}

// NewDeadline makes a context that ends at a time, and calls onExpire then, unless it is stopped before, which its maker has
// to do. onExpire must not call back.
func NewDeadline(parent context.Context, until time.Time, onExpire func()) *Deadline {
	ctx, cancel := context.WithCancelCause(parent)
	d := &Deadline{Context: ctx, cancel: cancel, onExpire: onExpire, until: until}
	d.mu.Lock() // the timer may fire before it is assigned
	defer d.mu.Unlock()
	left := time.Until(until)
	d.timer = time.AfterFunc(left, d.expire)
	if left <= 0 {
		d.end() // now, and not when a timer gets its turn
	}
	return d
}

func (d *Deadline) expire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end()
}

// end ends the context. The caller holds mu.
func (d *Deadline) end() {
	if d.stopped || d.paused > 0 || d.Context.Err() != nil {
		return
	}
	d.cancel(context.DeadlineExceeded)
	d.onExpire()
}

// Deadline is when the context ends, unless it is paused.
func (d *Deadline) Deadline() (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.paused > 0 {
		return d.Context.Deadline()
	}
	return d.until, true
}

// Err is context.DeadlineExceeded once the time is up.
func (d *Deadline) Err() error {
	err := d.Context.Err()
	if err != nil && context.Cause(d.Context) == context.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return err
}

// Pause stops the clock, unless the time is up.
func (d *Deadline) Pause() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped || d.paused > 0 || d.Context.Err() != nil {
		return
	}
	d.timer.Stop()
	d.paused = max(time.Until(d.until), 1)
}

// Resume lets the clock go on from where Pause stopped it.
func (d *Deadline) Resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped || d.paused == 0 {
		return
	}
	d.until = time.Now().Add(d.paused)
	d.timer.Reset(d.paused)
	d.paused = 0
}

// Stop ends the context, if its time is not up.
func (d *Deadline) Stop() {
	d.mu.Lock()
	d.stopped = true
	d.timer.Stop()
	d.mu.Unlock()
	d.cancel(context.Canceled)
}
