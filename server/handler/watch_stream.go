package handler

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// watchWriteTimeout is how long a client may take nothing of what is written to it. Then its watch ends: what it does
// not read would pile up in the storage.
const watchWriteTimeout = 30 * time.Second

// httpStream sends events in the body of a response.
type httpStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	format  *watchFormat
	gzip    bool
	timeout time.Duration
	// stuck fires when a write takes too long. A write deadline alone would not do: it also ends an HTTP/2 stream on
	// which nothing is written.
	stuck *time.Timer

	mu sync.Mutex
	// writing says that a write is under way. The timer must not touch w otherwise: once the handler has returned, a
	// writer of HTTP/2 panics, and nothing recovers in a timer.
	writing bool
}

func newHTTPStream(w http.ResponseWriter, format *watchFormat, gzip bool) *httpStream {
	s := &httpStream{w: w, control: http.NewResponseController(w), format: format, gzip: gzip, timeout: watchWriteTimeout}
	s.stuck = time.AfterFunc(s.timeout, s.isStuck)
	s.stuck.Stop()
	return s
}

func (s *httpStream) isStuck() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing {
		// A writer without deadlines has no socket to block on.
		_ = s.control.SetWriteDeadline(time.Now())
	}
}

// setWriting returns once the timer has ended the write, if it is about to.
func (s *httpStream) setWriting(writing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = writing
	if writing {
		s.stuck.Reset(s.timeout)
	} else {
		s.stuck.Stop()
	}
}

// begin sends the headers.
func (s *httpStream) begin() error {
	header := s.w.Header()
	header.Set("Content-Type", s.format.contentType)
	if s.gzip {
		header.Set("Content-Encoding", "gzip")
		header.Add("Vary", "Accept-Encoding")
	}
	s.w.WriteHeader(http.StatusOK)
	return s.control.Flush()
}

func (s *httpStream) framed() bool { return true }

func (s *httpStream) done() <-chan struct{} { return nil }

func (s *httpStream) event(b *watchBuffers) error {
	if b.size() < watchFlushBytes {
		return nil
	}
	return s.flush(b)
}

func (s *httpStream) flush(b *watchBuffers) error {
	if b.size() == 0 {
		return nil
	}
	s.setWriting(true)
	defer s.setWriting(false)
	defer b.reset()
	if err := s.write(b); err != nil {
		return err
	}
	return s.control.Flush()
}

// write compresses what lies in b by itself: an idle watch holds no compressor. The end of the data lies in a block of its own, or a
// reader that finds it together with data would wait for what comes next before it hands the data out.
func (s *httpStream) write(b *watchBuffers) error {
	if !s.gzip {
		return b.writeTo(s.w)
	}
	z := responsewriters.NewZipper(s.w)
	return errors.Join(b.writeTo(z), z.Close())
}
