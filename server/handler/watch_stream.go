package handler

import (
	"errors"
	"net/http"

	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// httpStream sends events in the body of a response.
type httpStream struct {
	w      http.ResponseWriter
	timer  *writeTimer
	format *watchFormat
	gzip   bool
}

func newHTTPStream(w http.ResponseWriter, format *watchFormat, gzip bool) *httpStream {
	return &httpStream{w: w, timer: newWriteTimer(w), format: format, gzip: gzip}
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
	return s.timer.control.Flush()
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
	s.timer.begin()
	defer s.timer.end()
	defer b.reset()
	if err := s.write(b); err != nil {
		return err
	}
	return s.timer.control.Flush()
}

// write compresses the content of b by itself, so that an idle watch holds no compressor. The end of the data is a
// block of its own. If it shared a block with data, a reader would wait for more before it returned the data.
func (s *httpStream) write(b *watchBuffers) error {
	if !s.gzip {
		return b.writeTo(s.w)
	}
	z := responsewriters.NewZipper(s.w)
	return errors.Join(b.writeTo(z), z.Close())
}
