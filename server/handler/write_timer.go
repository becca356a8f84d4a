package handler

import (
	"net/http"
	"sync"
	"time"
)

// watchWriteTimeout is how long a client may take nothing of what is written to it. Then its watch ends: what it does
// not read would pile up in the storage.
const watchWriteTimeout = 30 * time.Second

// writeTimer ends a write that takes too long. A write deadline alone would not do: it also ends an HTTP/2 stream on which
// nothing is written.
type writeTimer struct {
	control *http.ResponseController
	timeout time.Duration
	timer   *time.Timer

	mu sync.Mutex
	// writing says that a write is under way. The timer must not touch the response otherwise: once the handler has returned,
	// a writer of HTTP/2 panics, and nothing recovers in a timer.
	writing bool
}

func newWriteTimer(w http.ResponseWriter) *writeTimer {
	t := &writeTimer{control: http.NewResponseController(w), timeout: watchWriteTimeout}
	t.timer = time.AfterFunc(t.timeout, t.expire)
	t.timer.Stop()
	return t
}

func (t *writeTimer) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.writing {
		// A writer without deadlines has no socket to block on.
		_ = t.control.SetWriteDeadline(time.Now())
	}
}

// begin is called before a write.
func (t *writeTimer) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writing = true
	t.timer.Reset(t.timeout)
}

// end is called after a write. It returns once the timer has ended the write, if it is about to.
func (t *writeTimer) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writing = false
	t.timer.Stop()
}
