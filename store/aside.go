package store

import "context"

type asideKey struct{}

// Aside returns a context for reads of the server itself, which are no sign that anybody wants the resource: they do not make
// a cache fill.
func Aside(ctx context.Context) context.Context { return context.WithValue(ctx, asideKey{}, true) }

// IsAside says whether ctx is from Aside.
func IsAside(ctx context.Context) bool { return ctx.Value(asideKey{}) != nil }
