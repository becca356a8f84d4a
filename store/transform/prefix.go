package transform

import (
	"bytes"
	"context"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// PrefixTransformer is a transformer and the prefix of the values that it writes. The identity has an empty prefix.
type PrefixTransformer struct {
	Prefix      []byte
	Transformer Transformer
}

// NewPrefixTransformer writes with the first transformer and reads with the one that has the value's prefix. If several
// have it, such as two providers of a kind with different keys, they are tried in order until one succeeds. A value
// without a known prefix is the error noMatch.
func NewPrefixTransformer(noMatch error, first PrefixTransformer, others ...PrefixTransformer) Transformer {
	return newPrefixed(noMatch, first, others...)
}

func newPrefixed(noMatch error, first PrefixTransformer, others ...PrefixTransformer) *prefixChain {
	transformers := append([]PrefixTransformer{first}, others...)
	return &prefixChain{noMatch: noMatch, transformers: transformers, measures: measures{reads: make([]*measure, len(transformers))}}
}

type prefixChain struct {
	transformers []PrefixTransformer
	noMatch      error
	measures     measures
}

func (t *prefixChain) TransformFromStorage(ctx context.Context, data []byte, dataCtx Context) ([]byte, bool, error) {
	start := time.Now()
	var errs []error
	for i, candidate := range t.transformers {
		body, ok := bytes.CutPrefix(data, candidate.Prefix)
		if !ok {
			continue
		}
		out, stale, err := candidate.Transformer.TransformFromStorage(ctx, body, dataCtx)
		if err == nil {
			t.measures.reads[i].record(start, nil)
			return out, stale || i > 0, nil
		}
		// The identity has every value's prefix. Its refusal of an encrypted value does not explain why the others
		// could not read it.
		if len(candidate.Prefix) > 0 {
			t.measures.reads[i].record(start, err)
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, false, utilerrors.Reduce(utilerrors.NewAggregate(errs))
	}
	t.measures.noMatch.record(start, t.noMatch)
	return nil, false, t.noMatch
}

func (t *prefixChain) TransformToStorage(ctx context.Context, data []byte, dataCtx Context) ([]byte, error) {
	start := time.Now()
	first := t.transformers[0]
	body, err := first.Transformer.TransformToStorage(ctx, data, dataCtx)
	t.measures.write.record(start, err)
	if err != nil || len(first.Prefix) == 0 {
		return body, err
	}
	return bytes.Join([][]byte{first.Prefix, body}, nil), nil
}
