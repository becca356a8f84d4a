package responsewriters

import (
	"io"
	"net/http"
	"strings"
)

const (
	// gzipThresholdBytes is how large a body must be to be worth compressing.
	gzipThresholdBytes = 128 << 10
	// streamingWriteBytes is the longest first write of a serializer that streams: "{" in JSON, the four bytes that begin
	// protobuf. A longer one is the whole body.
	streamingWriteBytes = 4
)

// AcceptsGzip says whether the client can read gzip.
func AcceptsGzip(req *http.Request) bool {
	for encoding := range strings.SplitSeq(req.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(encoding) == "gzip" {
			return true
		}
	}
	return false
}

// Stream is the body of a response that is written piece by piece. It decides at the first writes whether to compress, and
// sends the headers then. It holds back at most gzipThresholdBytes, and only of a streaming serializer whose client accepts
// gzip.
type Stream struct {
	mediaType  string
	statusCode int
	gzip       bool
	hw         http.ResponseWriter

	held    []byte
	w       io.Writer // set when the headers are sent
	zipping *Zipper
}

// NewStream answers req. Nothing is sent before something is written.
func NewStream(mediaType string, hw http.ResponseWriter, req *http.Request, statusCode int) *Stream {
	return &Stream{mediaType: mediaType, statusCode: statusCode, gzip: AcceptsGzip(req), hw: hw}
}

// Sent says whether anything was sent: then the client can't be told of an error any more.
func (s *Stream) Sent() bool { return s.w != nil }

// Abort cuts the connection, or resets the HTTP/2 stream: a client that got part of an answer must not take it for the whole.
// It does not return.
func (*Stream) Abort() { panic(http.ErrAbortHandler) }

func (s *Stream) Write(p []byte) (int, error) {
	if s.w != nil {
		return s.w.Write(p)
	}
	whole := len(s.held) == 0 && len(p) > streamingWriteBytes
	if !s.gzip || whole {
		return s.send(p)
	}
	s.held = append(s.held, p...)
	if len(s.held) <= gzipThresholdBytes {
		return len(p), nil
	}
	held := s.held
	s.held = nil
	_, err := s.send(held)
	return len(p), err
}

// send sends the headers and then p.
func (s *Stream) send(p []byte) (int, error) {
	header := s.hw.Header()
	header.Set("Content-Type", s.mediaType)
	s.w = s.hw
	if s.gzip && len(p) > gzipThresholdBytes {
		header.Set("Content-Encoding", "gzip")
		header.Add("Vary", "Accept-Encoding")
		s.zipping = NewZipper(s.hw)
		s.w = s.zipping
	}
	s.hw.WriteHeader(s.statusCode)
	return s.w.Write(p)
}

// discard forgets what is held back.
func (s *Stream) discard() { s.held = nil }

// Close sends what is held back and ends the compressed stream.
func (s *Stream) Close() error {
	if s.w == nil && len(s.held) > 0 {
		_, err := s.send(s.held)
		return err
	}
	if s.zipping == nil {
		return nil
	}
	err := s.zipping.Close()
	s.zipping = nil
	return err
}
