package admin

import (
	"context"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Child is a key, or a directory of keys, right below a prefix.
type Child struct {
	// Path is the key. A directory's path ends in a slash.
	Path string
	// KV is the key without its value; nil for a directory.
	KV *KV
	// Keys counts the keys. Bytes is the size of the first Measured of them; Revision is their newest change, or a
	// newer one.
	Keys, Bytes, Revision, Measured int64
}

// Budget bounds how many values are read to measure directories. Level subtracts what it spends.
type Budget struct{ Keys, Bytes int64 }

const (
	// One directory may spend 1/share of the remaining budget, so that a large one leaves some for the others.
	share = 4
	// etcd walks through a whole range to answer for one page of it, so pages without values are large. etcd counts a
	// directory that is larger than a page, and the visit continues behind it.
	firstLevelKeys = 10_000
	mostLevelKeys  = 50_000
	// runKeys is the number of adjacent keys in one measurement.
	runKeys = 256
)

// Section is a part of the children of a prefix, in the order of keys.
type Section struct {
	Prefix string
	// From is where the section begins. If it is empty, that is the first child.
	From string
	// Revision must not be 0.
	Revision int64
	// Most limits the number of children.
	Most int64
}

// Level visits the children of a section. It returns where another section can continue, empty if all children were
// visited. It holds one page at a time.
func (l *Live) Level(ctx context.Context, s Section, budget *Budget, visit func(Child)) (next string, err error) {
	v := level{
		live: l, prefix: s.Prefix, end: rangeEnd(s.Prefix), revision: s.Revision, left: s.Most, budget: budget, visit: visit,
		next: max(s.Prefix, s.From, firstKey),
	}
	limit := int64(firstLevelKeys)
	for v.next != "" && !v.full {
		resp, err := l.get(ctx, v.next, clientv3.WithRange(v.end), clientv3.WithRev(v.revision), clientv3.WithLimit(limit),
			clientv3.WithKeysOnly())
		if err != nil {
			return "", readError(v.next, v.revision, err)
		}
		for _, kv := range resp.Kvs {
			if v.full || v.next == "" {
				break
			}
			if string(kv.Key) < v.next {
				continue // of a directory that was counted
			}
			if err := v.key(ctx, fromProto(kv)); err != nil {
				return "", err
			}
		}
		if !resp.More && !v.full {
			v.next = ""
		}
		limit = mostLevelKeys
	}
	return v.next, v.flush(ctx)
}

// firstKey sorts before all others: etcd has no empty key.
const firstKey = "\x00"

// rangeEnd is the first key behind all that begin with prefix.
func rangeEnd(prefix string) string {
	if prefix == "" {
		return firstKey
	}
	return clientv3.GetPrefixRangeEnd(prefix)
}

// level is the state of one visit.
type level struct {
	live        *Live
	prefix, end string
	revision    int64
	budget      *Budget
	visit       func(Child)

	// next is where to continue reading, empty at the end. full says that visit wants no more; left children remain
	// then.
	next string
	left int64
	full bool

	// run and dir were read and not visited yet: adjacent keys, or a directory. bound ends the part of the directory
	// that is measured.
	run   []KV
	dir   *Child
	bound string
}

// key takes the next key.
func (v *level) key(ctx context.Context, kv KV) error {
	if v.dir != nil && strings.HasPrefix(kv.Key, v.dir.Path) {
		return v.inDirectory(ctx, &kv)
	}
	if v.dir != nil || len(v.run) == runKeys {
		if err := v.flush(ctx); err != nil {
			return err
		}
	}
	if v.left == 0 {
		v.full, v.next = true, kv.Key
		return nil
	}
	v.left--
	v.next = kv.Key + firstKey
	// A slash right behind the prefix begins a name, as in Tree.
	name := kv.Key[len(v.prefix):]
	slash := -1
	if len(name) > 1 {
		slash = strings.IndexByte(name[1:], '/')
	}
	if slash < 0 {
		v.run = append(v.run, kv)
		return nil
	}
	if err := v.flush(ctx); err != nil {
		return err
	}
	v.dir = &Child{Path: v.prefix + name[:slash+2], Keys: 1, Revision: kv.ModRevision}
	v.bound = rangeEnd(v.dir.Path)
	return nil
}

// inDirectory counts a key of the current directory.
func (v *level) inDirectory(ctx context.Context, kv *KV) error {
	d := v.dir
	v.next = kv.Key + firstKey
	if d.Keys == v.budget.Keys/share {
		v.bound = kv.Key
	}
	d.Keys++
	d.Revision = max(d.Revision, kv.ModRevision)
	if d.Keys <= mostLevelKeys {
		return nil
	}
	resp, err := v.live.get(ctx, d.Path, clientv3.WithPrefix(), clientv3.WithRev(v.revision), clientv3.WithCountOnly())
	if err != nil {
		return readError(d.Path, v.revision, err)
	}
	d.Keys = resp.Count
	if v.next = rangeEnd(d.Path); v.next == firstKey {
		v.next = "" // nothing is behind it
	}
	return v.flush(ctx)
}

// flush visits the keys that were read and not visited yet.
func (v *level) flush(ctx context.Context) error {
	if v.dir != nil {
		d := v.dir
		v.dir = nil
		if err := v.measure(ctx, d); err != nil {
			return err
		}
		v.visit(*d)
	}
	if len(v.run) == 0 {
		return nil
	}
	first, behind := v.run[0].Key, v.run[len(v.run)-1].Key+firstKey
	v.run = v.run[:0]
	return v.values(ctx, first, behind, func(kv KV) bool {
		c := Child{Path: kv.Key, Keys: 1, Bytes: int64(len(kv.Value)), Revision: kv.ModRevision, Measured: 1}
		kv.Value = nil
		c.KV = &kv
		v.visit(c)
		return true
	})
}

// measure reads as many of a directory's values as the budget allows.
func (v *level) measure(ctx context.Context, d *Child) error {
	keys, bytes := v.budget.Keys/share, v.budget.Bytes/share
	if keys == 0 || bytes == 0 {
		return nil
	}
	err := v.values(ctx, d.Path, v.bound, func(kv KV) bool {
		d.Measured++
		d.Bytes += int64(len(kv.Value))
		return d.Measured < keys && d.Bytes < bytes
	})
	v.budget.Keys -= d.Measured
	v.budget.Bytes -= d.Bytes
	return err
}

// values reads the keys in [first, end) with their values, page by page, until each returns false.
func (v *level) values(ctx context.Context, first, end string, each func(KV) bool) error {
	for limit := int64(firstPageKeys); ; {
		resp, err := v.live.get(ctx, first, clientv3.WithRange(end), clientv3.WithRev(v.revision), clientv3.WithLimit(limit))
		if err != nil {
			return readError(first, v.revision, err)
		}
		var size int64
		for _, kv := range resp.Kvs {
			size += int64(len(kv.Value))
			if !each(fromProto(kv)) {
				return nil
			}
		}
		if !resp.More || len(resp.Kvs) == 0 {
			return nil
		}
		limit = min(max(pageBytes*int64(len(resp.Kvs))/max(size, 1), 1), mostPageKeys)
		first = string(resp.Kvs[len(resp.Kvs)-1].Key) + firstKey
	}
}
