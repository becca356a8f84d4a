package admin

import (
	"context"
	"iter"
)

// pair is a key at two revisions; nil where it did not exist.
type pair struct {
	before, after *KV
}

// merge joins two streams by key.
func merge(before, after iter.Seq2[KV, error]) iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		nextBefore, stopBefore := iter.Pull2(before)
		defer stopBefore()
		nextAfter, stopAfter := iter.Pull2(after)
		defer stopAfter()
		b, errB, okB := nextBefore()
		a, errA, okA := nextAfter()
		for okB || okA {
			if errB != nil || errA != nil {
				yield(pair{}, firstError(errB, errA))
				return
			}
			var p pair
			if okB && (!okA || b.Key <= a.Key) {
				p.before = &KV{}
				*p.before = b
			}
			if okA && (!okB || a.Key <= b.Key) {
				p.after = &KV{}
				*p.after = a
			}
			if !yield(p, nil) {
				return
			}
			if p.before != nil {
				b, errB, okB = nextBefore()
			}
			if p.after != nil {
				a, errA, okA = nextAfter()
			}
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Difference is a key whose value differs between two revisions. Before or After is nil where the key did not exist.
type Difference struct {
	Key           string
	Before, After *KV
}

// Diff streams the differences below a path between two revisions. It reads only values that changed.
func Diff(ctx context.Context, s Source, path string, from, to int64) iter.Seq2[Difference, error] {
	return func(yield func(Difference, error) bool) {
		before := Subtree(ctx, s, path, Range{Revision: from, KeysOnly: true})
		after := Subtree(ctx, s, path, Range{Revision: to, KeysOnly: true})
		for p, err := range merge(before, after) {
			if err != nil {
				yield(Difference{}, err)
				return
			}
			if p.before != nil && p.after != nil && p.before.ModRevision == p.after.ModRevision {
				continue
			}
			d := Difference{}
			if d.Before, err = fill(ctx, s, p.before, from); err == nil {
				d.After, err = fill(ctx, s, p.after, to)
			}
			if err != nil {
				yield(d, err)
				return
			}
			if d.After != nil {
				d.Key = d.After.Key
			} else {
				d.Key = d.Before.Key
			}
			if !yield(d, nil) {
				return
			}
		}
	}
}

func fill(ctx context.Context, s Source, kv *KV, revision int64) (*KV, error) {
	if kv == nil {
		return nil, nil
	}
	return s.Get(ctx, kv.Key, revision)
}
