package handler

import (
	"net/http"
	"sync"
	"time"
)

// watchWriteTimeout is the time after which a client that reads nothing loses its watch. Otherwise unread events would
// pile up in the storage.
const watchWriteTimeout = 30 * time.Second

// writeTimer ends a write that takes too long. A write deadline alone would not do: it also ends an HTTP/2 stream on
// which nothing is written. mu guards writing.
type writeTimer struct {
	control *http.ResponseController
	timeout time.Duration
	timer   *time.Timer

	mu sync.Mutex
	// writing is true during a write. Otherwise the timer must not touch the response: once the handler has returned, a
	// writer of HTTP/2 panics, and nothing recovers from a panic in a timer.
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

// begin must be called before a write.
func (t *writeTimer) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writing = true
	t.timer.Reset(t.timeout)
}

// end must be called after a write. If the timer is about to end the write, end waits for that.
func (t *writeTimer) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writing = false
	t.timer.Stop()
}
