package rest

import "context"

type encodedKey struct{}

// WithEncoded returns a context in which a storage may answer with an object.Encoded or an object.List instead of a decoded
// object or list. The items of an object.List may be encoded or decoded. A storage may ignore the permission. A storage
// that looks into the answers of another one calls it with [WithDecoded], or decodes the answers.
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

// TakesEncoded says whether the caller accepts encoded objects.
func TakesEncoded(ctx context.Context) bool {
	takes, _ := ctx.Value(encodedKey{}).(bool)
	return takes
}

// EncodedTableConvertor is a TableConvertor that also takes encoded objects and lists.
type EncodedTableConvertor interface {
	TableConvertor
	// ConvertsEncoded does nothing. A convertor that has it takes encoded objects.
	ConvertsEncoded()
}
