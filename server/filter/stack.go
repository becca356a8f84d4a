package filter

import "net/http"

// stackBytes is about what the way down to etcd's client takes of a stack.
const stackBytes = 12 << 10

// withStack makes the goroutine's stack as large as the request will need it while there is little on it. Each request of
// HTTP/2 has a new goroutine; left to itself its stack is doubled, and copied with more on it each time, five times on the
// way down: a fifth of what a read from the cache costs.
func withStack(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		growStack(stackBytes)
		next.ServeHTTP(w, r)
	})
}

// growStack needs a large frame, for a moment.
//
//go:noinline
func growStack(n int) byte {
	var frame [stackBytes]byte
	return frame[n%len(frame)]
}
