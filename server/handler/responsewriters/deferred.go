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

// deferredResponseWriter decides at the first writes whether to compress, and sends the headers then. It holds back at
// most gzipThresholdBytes, and only of a streaming serializer whose client accepts gzip.
type deferredResponseWriter struct {
	mediaType  string
	statusCode int
	gzip       bool
	hw         http.ResponseWriter

	held    []byte
	w       io.Writer // set when the headers are sent
	zipping *Zipper
}

func (d *deferredResponseWriter) Write(p []byte) (int, error) {
	if d.w != nil {
		return d.w.Write(p)
	}
	whole := len(d.held) == 0 && len(p) > streamingWriteBytes
	if !d.gzip || whole {
		return d.send(p)
	}
	d.held = append(d.held, p...)
	if len(d.held) <= gzipThresholdBytes {
		return len(p), nil
	}
	held := d.held
	d.held = nil
	_, err := d.send(held)
	return len(p), err
}

// send sends the headers and then p.
func (d *deferredResponseWriter) send(p []byte) (int, error) {
	header := d.hw.Header()
	header.Set("Content-Type", d.mediaType)
	d.w = d.hw
	if d.gzip && len(p) > gzipThresholdBytes {
		header.Set("Content-Encoding", "gzip")
		header.Add("Vary", "Accept-Encoding")
		d.zipping = NewZipper(d.hw)
		d.w = d.zipping
	}
	d.hw.WriteHeader(d.statusCode)
	return d.w.Write(p)
}

// discard forgets what is held back.
func (d *deferredResponseWriter) discard() { d.held = nil }

// Close sends what is held back and ends the compressed stream.
func (d *deferredResponseWriter) Close() error {
	if d.w == nil && len(d.held) > 0 {
		_, err := d.send(d.held)
		return err
	}
	if d.zipping == nil {
		return nil
	}
	err := d.zipping.Close()
	d.zipping = nil
	return err
}
