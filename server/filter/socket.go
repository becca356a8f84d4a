package filter

import (
	"net/http"
	"time"
)

// A handler that reads a body or writes an answer waits for its client where no context reaches it; and what it leaves of
// a body, the HTTP/1 server reads to its end before it answers, so that the connection can be used again. None of these
// may last as long as a client likes, or whoever sends half a body, known or not, holds a goroutine for ever, and whoever
// does not read a list holds a seat.

// patience is how long a client may take for what is left to be said once a request is over, or its time is up.
const patience = 5 * time.Second

// withSocketLimits bounds the wait for the part of a body that no handler read.
func withSocketLimits(next http.Handler, wait time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// HTTP/2 does not read on, and the stream of a request has deadlines of its own. HTTP/1 resets them for the next.
		if r.ProtoMajor == 1 && r.ContentLength != 0 {
			defer func() { _ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(wait)) }()
		}
		next.ServeHTTP(w, r)
	})
}

// giveUpOnClient ends reads of the body, and soon also writes: there is time to say that there is none.
func giveUpOnClient(w http.ResponseWriter, wait time.Duration) {
	// A writer without deadlines has no socket to wait for.
	socket := http.NewResponseController(w)
	_ = socket.SetReadDeadline(time.Now())
	_ = socket.SetWriteDeadline(time.Now().Add(wait))
}
