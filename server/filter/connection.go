package filter

import (
	"context"
	"net/http"
	"sync"
)

type firstRequestKey struct{}

// OnFirstRequest says what is to be done when a connection, whose context it is, has sent its first whole request.
func OnFirstRequest(ctx context.Context, do func()) context.Context {
	return context.WithValue(ctx, firstRequestKey{}, sync.OnceFunc(do))
}

// WithOnFirstRequest does it.
func WithOnFirstRequest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if do, ok := r.Context().Value(firstRequestKey{}).(func()); ok {
			do()
		}
		next.ServeHTTP(w, r)
	})
}
