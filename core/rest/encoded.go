package rest

import "context"

type encodedKey struct{}

// WithEncoded says in a context that whoever reads, creates or updates with it takes an object.Encoded and an object.List
// for an answer instead of decoded objects and lists. The items of an object.List may be either. A storage need not care. One
// that looks into what another gives asks with [WithDecoded], or decodes.
func WithEncoded(ctx context.Context) context.Context {
	return context.WithValue(ctx, encodedKey{}, true)
}

// WithDecoded takes back what [WithEncoded] said.
func WithDecoded(ctx context.Context) context.Context {
	if !TakesEncoded(ctx) {
		return ctx
	}
	return context.WithValue(ctx, encodedKey{}, false)
}

// TakesEncoded says whether the reader takes encoded objects.
func TakesEncoded(ctx context.Context) bool {
	takes, _ := ctx.Value(encodedKey{}).(bool)
	return takes
}

// EncodedTableConvertor is a TableConvertor that takes encoded objects and lists too.
type EncodedTableConvertor interface {
	TableConvertor
	// ConvertsEncoded does nothing: it tells these convertors from the others.
	ConvertsEncoded()
}
