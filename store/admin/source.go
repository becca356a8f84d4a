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
	// The caller may keep Value. It is nil if only keys were asked for.
	Value []byte
	// CreateRevision, ModRevision and Version are etcd's: when the key was created, when it changed last, and how many
	// writes it has had.
	CreateRevision, ModRevision, Version int64
	// Lease deletes the key when it ends; 0 is none.
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
	// Revision is the newest. Compacted is the oldest one that can be read, 0 if nothing was compacted.
	Revision  int64 `json:"revision"`
	Compacted int64 `json:"compacted"`
}

// Range says which keys to stream.
type Range struct {
	// Prefix begins the keys; an empty one selects all.
	Prefix string
	// Revision is the revision to read at; 0 is now.
	Revision int64
	KeysOnly bool
}

// Source is where keys and values are read from: an etcd, or a file of one.
type Source interface {
	// Name returns the source's name for errors and headings.
	Name() string
	Head(ctx context.Context) (Head, error)
	// Get reads a key at a revision, 0 for now. It returns nil without an error if the key does not exist.
	Get(ctx context.Context, key string, revision int64) (*KV, error)
	// Range streams keys in order, all at one revision.
	Range(ctx context.Context, r Range) iter.Seq2[KV, error]
	// History streams all changes of a key that etcd still has, oldest first. The first may be older than the oldest
	// revision that Get can read.
	History(ctx context.Context, key string) iter.Seq2[Event, error]
	Close() error
}

// ErrCompacted marks the error about a revision that was compacted.
var ErrCompacted = errors.New("etcd no longer has it, history was compacted")

// ErrFuture marks the error about a revision that etcd has not reached.
var ErrFuture = errors.New("etcd has not reached it")

// Subtree streams the key path and all keys below path/. A path that ends in a slash is no key itself.
func Subtree(ctx context.Context, s Source, path string, r Range) iter.Seq2[KV, error] {
	return func(yield func(KV, error) bool) {
		dir := strings.TrimSuffix(path, "/") + "/"
		if path == "" {
			dir = ""
		}
		if r.Revision == 0 {
			// Both reads use one revision.
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

// ParseRevision reads a revision: a number, or a distance from head such as -100 or -0.
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
