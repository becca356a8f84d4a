package rest

import (
	"context"
	"time"
)

type watchEndKey struct{}

// WithWatchEnd returns a context that says when its watch will be ended, so that a storage can send a last bookmark in
// time. The time is not a deadline: a watch that takes longer to begin than it should have lasted still answers with
// the reason.
func WithWatchEnd(ctx context.Context, at time.Time) context.Context {
	return context.WithValue(ctx, watchEndKey{}, at)
}

// WatchEnd is when the watch of ctx will be ended: the time of [WithWatchEnd], else the deadline, else zero.
func WatchEnd(ctx context.Context) time.Time {
	if at, said := ctx.Value(watchEndKey{}).(time.Time); said {
		return at
	}
	deadline, _ := ctx.Deadline()
	return deadline
}
