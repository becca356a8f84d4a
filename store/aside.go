package store

import "context"

type asideKey struct{}

// WithAside returns a context for reads that the server makes for itself. They do not show that a client uses the
// resource, so they do not make a cache fill.
func WithAside(ctx context.Context) context.Context { return context.WithValue(ctx, asideKey{}, true) }

// IsAside says whether ctx is from WithAside.
func IsAside(ctx context.Context) bool { return ctx.Value(asideKey{}) != nil }

type unreadableKey struct{}

// WithUnreadable returns a context for lists that the server makes for itself and that must include unreadable
// objects. Such an object is an item like others and fails when it is decoded. The context has no effect on lists
// that select by labels or fields.
func WithUnreadable(ctx context.Context) context.Context {
	return context.WithValue(ctx, unreadableKey{}, true)
}

// HasUnreadable says whether ctx is from WithUnreadable.
func HasUnreadable(ctx context.Context) bool { return ctx.Value(unreadableKey{}) != nil }
