package rest

import "context"

type initializedKey struct{}

// WithInitialized returns a context whose watch calls f after it has sent the initial state: from then on it costs
// little.
func WithInitialized(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, initializedKey{}, f)
}

// NotifyInitialized is called by the watch of ctx.
func NotifyInitialized(ctx context.Context) {
	if f, ok := ctx.Value(initializedKey{}).(func()); ok {
		f()
	}
}
