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

// WatchEnd is when a watch that is begun with ctx will be ended: what [WithWatchEnd] said, or else its deadline. Zero is not known.
func WatchEnd(ctx context.Context) time.Time {
	if at, said := ctx.Value(watchEndKey{}).(time.Time); said {
		return at
	}
	deadline, _ := ctx.Deadline()
	return deadline
}
