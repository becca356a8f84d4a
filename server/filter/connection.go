package filter

import (
	"context"
	"net/http"
	"sync"
)

type firstRequestKey struct{}

// OnFirstRequest returns a context for a connection. WithOnFirstRequest calls do when the connection has sent its first
// whole request.
func OnFirstRequest(ctx context.Context, do func()) context.Context {
	return context.WithValue(ctx, firstRequestKey{}, sync.OnceFunc(do))
}

// WithOnFirstRequest calls the function that OnFirstRequest put into the connection's context.
func WithOnFirstRequest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if do, ok := r.Context().Value(firstRequestKey{}).(func()); ok {
			do()
		}
		next.ServeHTTP(w, r)
	})
}
