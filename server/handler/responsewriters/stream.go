package responsewriters

import (
	"io"
	"net/http"
	"strings"
)

const (
	// gzipThresholdBytes is the size from which on a body is worth compressing.
	gzipThresholdBytes = 128 << 10
	// streamingWriteBytes is the longest first write of a streaming serializer: "{" in JSON, the four bytes that begin
	// protobuf. A longer first write is the whole body.
	streamingWriteBytes = 4
)

// AcceptsGzip reports whether the client accepts gzip.
func AcceptsGzip(req *http.Request) bool {
	for encoding := range strings.SplitSeq(req.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(encoding) == "gzip" {
			return true
		}
	}
	return false
}

// Stream is the body of a response that is written piece by piece. At the first writes it decides whether to compress,
// and sends the headers. It holds back at most gzipThresholdBytes, and only for a streaming serializer whose client
// accepts gzip.
type Stream struct {
	mediaType  string
	statusCode int
	gzip       bool
	hw         http.ResponseWriter

	held    []byte
	w       io.Writer // set when the headers are sent
	zipping *Zipper
}

// NewStream returns the body of the response to req. It sends nothing before the first write.
func NewStream(mediaType string, hw http.ResponseWriter, req *http.Request, statusCode int) *Stream {
	return &Stream{mediaType: mediaType, statusCode: statusCode, gzip: AcceptsGzip(req), hw: hw}
}

// Sent reports whether anything was sent. From then on the client can't get an error any more.
func (s *Stream) Sent() bool { return s.w != nil }

// Abort cuts the connection, or resets the HTTP/2 stream, so that a client does not mistake a partial response for a
// whole one. It does not return.
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

// discard drops the bytes that are held back.
func (s *Stream) discard() { s.held = nil }

// Close sends the bytes that are held back and ends the compressed stream.
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
