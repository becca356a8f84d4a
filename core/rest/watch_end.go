package rest

import (
	"context"
	"time"
)

type watchEndKey struct{}

// WithWatchEnd says in a context when the watch that is begun with it will be ended, so that a storage can send a last bookmark
// before. It is no deadline: a client whose watch takes longer to begin than it was to last is told why.
func WithWatchEnd(ctx context.Context, at time.Time) context.Context {
	return context.WithValue(ctx, watchEndKey{}, at)
}

// WatchEnd is what [WithWatchEnd] said; zero is nothing.
func WatchEnd(ctx context.Context) time.Time {
	at, _ := ctx.Value(watchEndKey{}).(time.Time)
	return at
}
