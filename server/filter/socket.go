package filter

import (
	"io"
	"net/http"
	"time"
)

// A handler that reads a body or writes an answer may wait for its client, and no context ends that wait. The HTTP/1
// server also reads the rest of a body before it answers, so that the connection can be used again. All these waits are
// bounded: otherwise a client that sends half a body would hold a goroutine for ever, and one that does not read its
// list a seat.

// patience is the time that a client has left to send its body and read its answer once its request has ended or timed
// out.
const patience = 5 * time.Second

// withSocketLimits limits the wait for the part of a body that no handler has read. It drops the body of a GET on
// HTTP/2, where the server would keep 256 KiB of each.
func withSocketLimits(next http.Handler, wait time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// HTTP/2 does not read the rest, and each stream has its own deadlines. HTTP/1 resets them for the next
		// request.
		if r.ProtoMajor == 1 && r.ContentLength != 0 {
			defer func() { _ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(wait)) }()
		}
		if r.ProtoMajor == 2 && r.ContentLength != 0 && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			body := r.Body
			r.Body, r.ContentLength = http.NoBody, 0
			go func() { _, _ = io.Copy(io.Discard, body) }() // ends with the stream
		}
		next.ServeHTTP(w, r)
	})
}

// giveUpOnClient ends the reads of a body at once, and the writes a little later, so that the client can still get the
// timeout.
func giveUpOnClient(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	// A writer without deadlines has no socket to wait for.
	socket := http.NewResponseController(w)
	if r.ContentLength != 0 {
		_ = socket.SetReadDeadline(time.Now())
	}
	_ = socket.SetWriteDeadline(time.Now().Add(wait))
}
