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
// and sends the headers. It holds back at most gzipThresholdBytes and one piece, and only for a client that accepts
// gzip and a streaming serializer or a writer of pieces.
type Stream struct {
	mediaType  string
	statusCode int
	gzip       bool
	pieces     *Pieces // may be nil
	hw         http.ResponseWriter

	held    []byte
	ends    []int     // of the pieces in held
	w       io.Writer // set when the headers are sent
	zipping io.Closer
}

// NewStream returns the body of the response to req. It sends nothing before the first write.
func NewStream(mediaType string, hw http.ResponseWriter, req *http.Request, statusCode int) *Stream {
	return &Stream{mediaType: mediaType, statusCode: statusCode, gzip: AcceptsGzip(req), hw: hw}
}

// Reuse has the pieces of the body compressed by pieces, which keeps them for later responses. It must be called before
// the first write. Pieces may be nil.
func (s *Stream) Reuse(pieces *Pieces) { s.pieces = pieces }

// WantsPieces reports whether the body should be written by WritePiece.
func (s *Stream) WantsPieces() bool { return s.gzip && s.pieces != nil }

// WritePiece writes a piece of the body, which a later response is likely to have too.
func (s *Stream) WritePiece(p []byte) error {
	if s.w != nil {
		_, err := s.w.Write(p)
		return err
	}
	s.held = append(s.held, p...)
	s.ends = append(s.ends, len(s.held))
	if len(s.held) <= gzipThresholdBytes {
		return nil
	}
	s.sendHeader("gzip")
	packer := s.pieces.newPacker(s.hw)
	s.w, s.zipping = packer, packer
	start := 0
	for _, end := range s.ends {
		if _, err := packer.Write(s.held[start:end]); err != nil {
			return err
		}
		start = end
	}
	s.held = nil
	return nil
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
	if !s.gzip || len(p) <= gzipThresholdBytes {
		s.sendHeader("")
		s.w = s.hw
		return s.w.Write(p)
	}
	s.sendHeader("gzip")
	zipper := NewZipper(s.hw)
	s.w, s.zipping = zipper, zipper
	return s.w.Write(p)
}

func (s *Stream) sendHeader(encoding string) {
	header := s.hw.Header()
	header.Set("Content-Type", s.mediaType)
	if encoding != "" {
		header.Set("Content-Encoding", encoding)
		header.Add("Vary", "Accept-Encoding")
	}
	s.hw.WriteHeader(s.statusCode)
}

// discard drops the bytes that are held back.
func (s *Stream) discard() { s.held, s.ends = nil, nil }

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
