package admin

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// KV is a key with its value at one revision.
type KV struct {
	Key string
	// Value is the caller's to keep; nil if only keys were asked for.
	Value []byte
	// CreateRevision, ModRevision and Version are etcd's: when the key came to be, when it changed last, and how many
	// writes that were.
	CreateRevision, ModRevision, Version int64
	// Lease ends the key when it ends; 0 is none.
	Lease int64
}

// Event is one change of a key.
type Event struct {
	KV
	// Deleted says that the key was deleted at ModRevision.
	Deleted bool
}

// Head is where an etcd's history begins and ends.
type Head struct {
	// Revision is the newest. Compacted is the oldest that can be read, 0 if all can.
	Revision  int64 `json:"revision"`
	Compacted int64 `json:"compacted"`
}

// Range says which keys to stream.
type Range struct {
	// Prefix is what the keys begin with; empty is all.
	Prefix string
	// Revision is when to look; 0 is now.
	Revision int64
	KeysOnly bool
}

// Source is where keys and values are read from: an etcd, or a file of one.
type Source interface {
	// Name is what errors and headings call it.
	Name() string
	Head(ctx context.Context) (Head, error)
	// Get is a key's value at a revision, 0 for now; nil without error if it has none.
	Get(ctx context.Context, key string, revision int64) (*KV, error)
	// Range streams keys in their order, as they were at one revision.
	Range(ctx context.Context, r Range) iter.Seq2[KV, error]
	// History streams all changes of a key that are still there, oldest first. The first may be older than what can be
	// read otherwise.
	History(ctx context.Context, key string) iter.Seq2[Event, error]
	Close() error
}

// ErrCompacted is in the error about a revision that is no longer there.
var ErrCompacted = errors.New("etcd no longer has it, history was compacted")

// ErrFuture is in the error about a revision that is not yet there.
var ErrFuture = errors.New("etcd has not reached it")

// Below streams the key named path and all keys below it: path/… . A path that ends in a slash has no key of its own.
func Below(ctx context.Context, s Source, path string, r Range) iter.Seq2[KV, error] {
	return func(yield func(KV, error) bool) {
		dir := strings.TrimSuffix(path, "/") + "/"
		if path == "" {
			dir = ""
		}
		if r.Revision == 0 {
			// One revision for both reads.
			head, err := s.Head(ctx)
			if err != nil {
				yield(KV{}, err)
				return
			}
			r.Revision = head.Revision
		}
		if path != "" && !strings.HasSuffix(path, "/") {
			kv, err := s.Get(ctx, path, r.Revision)
			if err != nil {
				yield(KV{}, err)
				return
			}
			if kv != nil {
				if r.KeysOnly {
					kv.Value = nil
				}
				if !yield(*kv, nil) {
					return
				}
			}
		}
		r.Prefix = dir
		for kv, err := range s.Range(ctx, r) {
			if !yield(kv, err) || err != nil {
				return
			}
		}
	}
}

// ParseRevision reads a revision: a number, or one relative to head such as -100 or -0.
func ParseRevision(text string, head Head) (int64, error) {
	var n int64
	if _, err := fmt.Sscanf(text, "%d", &n); err != nil || fmt.Sprint(n) != strings.TrimPrefix(text, "+") && text != "-0" {
		return 0, fmt.Errorf("revision %q is no number: give etcd's revision, or how far to go back such as -100", text)
	}
	if strings.HasPrefix(text, "-") {
		n += head.Revision
	}
	switch {
	case n < 1 && head.Compacted == 0:
		return 0, fmt.Errorf("revision %s is before the first: it has 1 to %d", text, head.Revision)
	case n < 1 || n < head.Compacted:
		return 0, fmt.Errorf("revision %d: %w: it has %d to %d", n, ErrCompacted, max(head.Compacted, 1), head.Revision)
	case n > head.Revision:
		return 0, fmt.Errorf("revision %d: %w: it has %d to %d", n, ErrFuture, max(head.Compacted, 1), head.Revision)
	}
	return n, nil
}
