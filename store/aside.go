package store

import "context"

type asideKey struct{}

// Aside returns a context for reads of the server itself, which are no sign that anybody wants the resource: they do
// not make a cache fill.
func Aside(ctx context.Context) context.Context { return context.WithValue(ctx, asideKey{}, true) }

// IsAside says whether ctx is from Aside.
func IsAside(ctx context.Context) bool { return ctx.Value(asideKey{}) != nil }

type unreadableKey struct{}

// WithUnreadable returns a context for lists of the server itself that have to show what is there: an object that can't
// be read is an item like others, and fails when somebody looks inside. It has no effect on lists that select by labels
// or fields.
func WithUnreadable(ctx context.Context) context.Context {
	return context.WithValue(ctx, unreadableKey{}, true)
}

// HasUnreadable says whether ctx is from WithUnreadable.
func HasUnreadable(ctx context.Context) bool { return ctx.Value(unreadableKey{}) != nil }
