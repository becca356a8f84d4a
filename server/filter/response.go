package filter

import (
	"bufio"
	"net"
	"net/http"
)

// response remembers the answer for the journey, the audit log and the metrics. It wraps the server's own writer; all
// filters and handlers of a request share it.
type response struct {
	http.ResponseWriter
	code     int // 0 until something was answered
	bytes    int64
	hijacked bool
	// last makes a timeout on HTTP/1 the last answer of its connection. giveUpOnClient has ended the reads of the
	// connection then, so its next request would fail too. HTTP/2 has deadlines for each request.
	last bool
	// onHeader runs once, before the header is sent.
	onHeader func(code int)
}

// responseOf returns the chain's response writer, if w is one.
func responseOf(w http.ResponseWriter) *response {
	r, _ := w.(*response)
	return r
}

func (r *response) WriteHeader(code int) {
	if r.code == 0 && code >= http.StatusOK {
		r.code = code
		if r.last && code == http.StatusGatewayTimeout {
			r.Header().Set("Connection", "close")
		}
		if r.onHeader != nil {
			r.onHeader(code)
		}
	}
	r.ResponseWriter.WriteHeader(code)
}

func (r *response) Write(p []byte) (int, error) {
	if r.code == 0 {
		r.WriteHeader(http.StatusOK)
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// FlushError sends the bytes written so far. Watches rely on its error.
func (r *response) FlushError() error {
	if r.code == 0 {
		r.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(r.ResponseWriter).Flush()
}

// Flush is for callers that know only http.Flusher.
func (r *response) Flush() { _ = r.FlushError() }

// Hijack hands the connection over, to a WebSocket.
func (r *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(r.ResponseWriter).Hijack()
	if err == nil {
		r.hijacked = true
		r.code = http.StatusSwitchingProtocols
		if r.onHeader != nil {
			r.onHeader(r.code)
		}
	}
	return conn, rw, err
}

// Unwrap lets http.ResponseController reach the server's own writer.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }
