package admin

import (
	"context"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Child is a key, or a directory of keys, right below a prefix.
type Child struct {
	// Path is the key; that of a directory ends in a slash.
	Path string
	// KV is the key without its value; nil for a directory.
	KV *KV
	// Keys is how many there are. Bytes and Revision, that of the newest change, are of the first Measured of them.
	Keys, Bytes, Revision, Measured int64
}

// Budget bounds what is read of values to find out how large directories are. What is spent is taken from it.
type Budget struct{ Keys, Bytes int64 }

// share is how much of what is left of a budget one directory may take, so that a large one leaves some for the others.
const share = 4

// Level visits what is right below a prefix as of a revision, which must not be 0, in the order of the keys, until visit
// wants no more. It begins at from, or with the first if that is empty, and returns where another one can go on; nowhere if
// all was visited. Each directory is counted by etcd itself, which costs neither side memory; a page of values is held at a
// time.
func (l *Live) Level(ctx context.Context, prefix, from string, revision int64, budget *Budget, visit func(Child) (more bool)) (next string, err error) {
	v := level{live: l, prefix: prefix, end: rangeEnd(prefix), revision: revision, budget: budget, visit: visit}
	v.next = max(prefix, from, firstKey)
	for limit := int64(1); v.next != ""; {
		resp, err := l.get(ctx, v.next, clientv3.WithRange(v.end), clientv3.WithRev(revision), clientv3.WithLimit(limit))
		if err != nil {
			return "", readError(v.next, revision, err)
		}
		if v.stopped || len(resp.Kvs) == 0 {
			return v.rest(resp.Kvs), nil
		}
		var size int64
		leaf := true
		for _, kv := range resp.Kvs {
			if string(kv.Key) < v.next {
				continue // of a directory that was visited
			}
			size += int64(len(kv.Value))
			if leaf, err = v.child(ctx, fromProto(kv)); err != nil || v.next == "" {
				return "", err
			}
			if v.stopped {
				break
			}
		}
		// One key says that a directory begins; of keys that stand side by side many are read at once.
		limit = 1
		if leaf && !v.stopped {
			limit = min(max(pageBytes*int64(len(resp.Kvs))/max(size, 1), 1), firstPageKeys)
		}
	}
	return "", nil
}

// firstKey is before all others: etcd has no empty key.
const firstKey = "\x00"

// rangeEnd is the first key after all that begin with prefix.
func rangeEnd(prefix string) string {
	if prefix == "" {
		return firstKey
	}
	return clientv3.GetPrefixRangeEnd(prefix)
}

// level is what the visit of one is about.
type level struct {
	live        *Live
	prefix, end string
	revision    int64
	budget      *Budget
	visit       func(Child) bool

	// next is where the next child begins, nowhere if there can be none. stopped says that it is not wanted.
	next    string
	stopped bool
}

// rest is where another visit can go on, of which the first keys are known.
func (v *level) rest(first []*mvccpb.KeyValue) string {
	if len(first) == 0 {
		return ""
	}
	return v.next
}

// child visits what a key belongs to, and says whether that is the key itself.
func (v *level) child(ctx context.Context, kv KV) (leaf bool, err error) {
	c := Child{Path: kv.Key}
	// A slash right behind the prefix begins a name and does not end one, as in Tree.
	name := kv.Key[len(v.prefix):]
	slash := -1
	if len(name) > 1 {
		slash = strings.IndexByte(name[1:], '/')
	}
	if leaf = slash < 0; leaf {
		c.Keys, c.Bytes, c.Revision, c.Measured = 1, int64(len(kv.Value)), kv.ModRevision, 1
		kv.Value = nil
		c.KV = &kv
		v.next = kv.Key + firstKey
	} else {
		c.Path = v.prefix + name[:slash+2]
		if err := v.measure(ctx, &c); err != nil {
			return false, err
		}
		if v.next = rangeEnd(c.Path); v.next == firstKey {
			v.next = "" // nothing is behind it
		}
	}
	v.stopped = !v.visit(c)
	return leaf, nil
}

// measure counts the keys of a directory, and reads of their values what the budget allows.
func (v *level) measure(ctx context.Context, c *Child) error {
	resp, err := v.live.get(ctx, c.Path, clientv3.WithPrefix(), clientv3.WithRev(v.revision), clientv3.WithCountOnly())
	if err != nil {
		return readError(c.Path, v.revision, err)
	}
	c.Keys = resp.Count
	keys, bytes := v.budget.Keys/share, v.budget.Bytes/share
	for kv, err := range v.live.Range(ctx, Range{Prefix: c.Path, Revision: v.revision}) {
		if err != nil {
			return err
		}
		if c.Measured >= keys || c.Bytes >= bytes {
			break
		}
		c.Measured++
		c.Bytes += int64(len(kv.Value))
		c.Revision = max(c.Revision, kv.ModRevision)
	}
	v.budget.Keys -= c.Measured
	v.budget.Bytes -= c.Bytes
	return nil
}
