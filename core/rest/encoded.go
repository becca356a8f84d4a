package rest

import "context"

type encodedKey struct{}

// WithEncoded returns a context whose reads, creates and updates may be answered with an object.Encoded or an object.List
// instead of decoded objects and lists. The items of an object.List may be either. A storage may ignore it. One that looks
// into the answers of another calls that with [WithDecoded], or decodes them.
func WithEncoded(ctx context.Context) context.Context {
	return context.WithValue(ctx, encodedKey{}, true)
}

// WithDecoded undoes [WithEncoded].
func WithDecoded(ctx context.Context) context.Context {
	if !TakesEncoded(ctx) {
		return ctx
	}
	return context.WithValue(ctx, encodedKey{}, false)
}

// TakesEncoded says whether the caller takes encoded objects.
func TakesEncoded(ctx context.Context) bool {
	takes, _ := ctx.Value(encodedKey{}).(bool)
	return takes
}

// EncodedTableConvertor is a TableConvertor that also takes encoded objects and lists.
type EncodedTableConvertor interface {
	TableConvertor
	// ConvertsEncoded does nothing: it tells these convertors from the others.
	ConvertsEncoded()
}
