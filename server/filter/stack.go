package filter

import "net/http"

// readStack and writeStack are about what the way down to etcd's client takes of a stack.
const (
	readStack  = 12 << 10
	writeStack = 26 << 10
)

// withStack makes the goroutine's stack as large as the request will need it while there is little on it. Each request of
// HTTP/2 has a new goroutine; left to itself its stack is doubled, and copied with more on it each time, five times on the
// way down: a fifth of what a read from the cache costs.
func withStack(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			growStackToRead(0)
		} else {
			growStackToWrite(0)
		}
		next.ServeHTTP(w, r)
	})
}

// These need a large frame, for a moment.

//go:noinline
func growStackToRead(at int) byte {
	var frame [readStack]byte
	return frame[at]
}

//go:noinline
func growStackToWrite(at int) byte {
	var frame [writeStack]byte
	return frame[at]
}
