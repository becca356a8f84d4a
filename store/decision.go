package store

import "context"

type decisionKey struct{}

// WithDecision returns a context for the writes of a decision. generation is that of the stored objects when the
// decision began to read: each rewind begins another. A write fails with [ErrRewound] if its storage has a later one.
func WithDecision(ctx context.Context, generation int64) context.Context {
	return context.WithValue(ctx, decisionKey{}, generation)
}

// DecisionOf returns the generation of ctx. ok is false if its writes hold for each: those of clients do.
func DecisionOf(ctx context.Context) (generation int64, ok bool) {
	generation, ok = ctx.Value(decisionKey{}).(int64)
	return generation, ok
}
