package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// rewindLooks limits how often a rewind compares the keys: other processes may write meanwhile. lookPause is the
	// pause after the first look, and grows with each.
	rewindLooks = 10
	lookPause   = 2 * time.Millisecond
	// rewindWriters limits the concurrent writes of a rewind. etcd applies concurrent ones together.
	rewindWriters = 32
	// movingMost limits the keys that an error names.
	movingMost = 5
)

// Rewinder brings the keys below the prefix of its decoder back to what they were at a revision of etcd.
//
// Purpose: to be a set of ordinary writes to everything that follows etcd, and to end in exactly the state of the
// revision. The caller keeps the writes of its own process away (the Gate of store/etcd3); other processes may write
// meanwhile.
//
//  1. Each write is a transaction for one key, which holds only if the key is at the revision that was read. One
//     transaction for many keys would give them one resourceVersion, and a watch that ends between two of them and
//     continues from there would never see the second.
//  2. Values are written as they were stored, encrypted ones too. A key whose value did not change is not written.
//  3. Definitions and namespaces come back before other objects, and owners before their dependents, so that no
//     garbage collector sees a dependent alone. After them go the objects that are new, owners first, and last the new
//     definitions.
//  4. An object that has the name of another one is deleted before that comes back, so that watches see both.
//  5. A key whose lease has ended stays away: it would have expired by now.
//  6. Run succeeds only after a look found no difference.
//
// The difference is in memory while it is written. Run must not be called concurrently.
type Rewinder struct {
	Live    *Live
	Decoder *Decoder
	// Revision is the revision to go back to. etcd must still have it.
	Revision int64
	// Stays reports whether a key stays as it is.
	Stays func(key string) bool

	// same holds the keys that were written after Revision and have the value of it again, with the revision at which
	// that was found. They need not be read again.
	same map[string]int64
	// leases holds the leases that were asked for in the present look, and whether they live.
	leases map[int64]bool
}

// RewindResult is the result of a rewind.
type RewindResult struct {
	// Written and Removed count the writes and deletions.
	Written, Removed int64
	// Revision is the revision of etcd at which there was no difference.
	Revision int64
	// Latest has the revision of the last write for each resource that was written.
	Latest map[schema.GroupResource]int64
}

// BusyError is the error of a rewind that did not end because others kept writing to etcd, past the caller's process.
type BusyError struct {
	Keys []string
	// More is the number of keys that are not in Keys.
	More int
}

func (e *BusyError) Error() string {
	keys := strings.Join(e.Keys, ", ")
	if e.More > 0 {
		keys += fmt.Sprintf(" and %d more", e.More)
	}
	return fmt.Sprintf("others kept writing to etcd, past this server, during %d looks, and these are not back yet: %s: "+
		"stop their writers, and rewind again", rewindLooks, keys)
}

// Run writes the difference. After an error a part of it may be written, and another Run goes on with the rest.
func (r *Rewinder) Run(ctx context.Context) (*RewindResult, error) {
	out := &RewindResult{Latest: map[schema.GroupResource]int64{}}
	before, err := r.before(ctx)
	if err != nil {
		return nil, err
	}
	if r.same == nil {
		r.same = map[string]int64{}
	}
	if err := r.await(ctx); err != nil {
		return nil, err
	}
	for look := 1; ; look++ {
		changes, revision, err := r.look(ctx, before)
		switch {
		case err != nil:
			return nil, err
		case len(changes) == 0:
			out.Revision = revision
			return out, nil
		case look == rewindLooks:
			return nil, busyError(changes)
		}
		if err := r.write(ctx, changes, out); err != nil {
			return nil, err
		}
		if look == 1 {
			continue // mostly nothing moves, and the next look finds no difference
		}
		select {
		case <-time.After(time.Duration(look) * lookPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// await returns when etcd has carried out all requests that it got before, also those of callers who have given up: a
// read may overtake such a write. This request takes its place behind them because it could write. It never does, since
// no version is below 0.
func (r *Rewinder) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	key := r.prefix()
	_, err := r.Live.Client.Txn(ctx).If(clientv3.Compare(clientv3.Version(key), "<", 0)).Then(clientv3.OpDelete(key)).Commit()
	if err != nil {
		return fmt.Errorf("wait for the writes that etcd still has to carry out: %w", noAnswer(err))
	}
	return nil
}

func busyError(changes []*rewrite) *BusyError {
	e := &BusyError{}
	for _, c := range changes {
		if len(e.Keys) < movingMost {
			e.Keys = append(e.Keys, c.key)
		}
	}
	slices.Sort(e.Keys)
	e.More = len(changes) - len(e.Keys)
	return e
}

// prefix begins the keys, and ends in a slash.
func (r *Rewinder) prefix() string { return strings.TrimSuffix(r.Decoder.Prefix, "/") + "/" }

// before returns the keys as they were, without values.
func (r *Rewinder) before(ctx context.Context) (keys []KV, err error) {
	for kv, err := range r.Live.Range(ctx, Range{Prefix: r.prefix(), Revision: r.Revision, KeysOnly: true}) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, kv)
	}
	return keys, nil
}

// look returns the writes that are needed at the present revision of etcd.
func (r *Rewinder) look(ctx context.Context, before []KV) (changes []*rewrite, revision int64, err error) {
	if revision, err = r.Live.Revision(ctx); err != nil {
		return nil, 0, err
	}
	r.leases = map[int64]bool{}
	now := r.Live.Range(ctx, Range{Prefix: r.prefix(), Revision: revision, KeysOnly: true})
	var page []pair
	for p, err := range merge(succeed(before), now) {
		if err != nil {
			return nil, 0, err
		}
		key := p.key()
		if r.Stays(key) || p.after != nil && (p.before != nil && p.before.ModRevision == p.after.ModRevision ||
			r.same[key] == p.after.ModRevision) {
			continue
		}
		if page = append(page, p); len(page) == rewindPage {
			if changes, err = r.compare(ctx, page, changes); err != nil {
				return nil, 0, err
			}
			page = page[:0]
		}
	}
	changes, err = r.compare(ctx, page, changes)
	return changes, revision, err
}

func succeed(keys []KV) iter.Seq2[KV, error] {
	return func(yield func(KV, error) bool) {
		for _, kv := range keys {
			if !yield(kv, nil) {
				return
			}
		}
	}
}

func (p *pair) key() string {
	if p.before != nil {
		return p.before.Key
	}
	return p.after.Key
}

// lives reports whether a lease has not ended. If etcd does not say so, the write finds out.
func (r *Rewinder) lives(ctx context.Context, lease int64) bool {
	if lease == 0 {
		return true
	}
	lives, known := r.leases[lease]
	if !known {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		left, err := r.Live.Client.TimeToLive(ctx, clientv3.LeaseID(lease))
		lives = err == nil && left.TTL > 0 || err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound)
		r.leases[lease] = lives
	}
	return lives
}

// rewindPage limits the keys that one request reads. etcd allows 128 operations in a transaction, and a key needs two.
const rewindPage = 60

// compare reads the values of a page, and adds the writes for those that differ.
func (r *Rewinder) compare(ctx context.Context, page []pair, changes []*rewrite) ([]*rewrite, error) {
	if len(page) == 0 {
		return changes, nil
	}
	ops := make([]clientv3.Op, 0, 2*len(page))
	for i := range page {
		if page[i].before != nil {
			ops = append(ops, clientv3.OpGet(page[i].key(), clientv3.WithRev(r.Revision)))
		}
		ops = append(ops, clientv3.OpGet(page[i].key()))
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := r.Live.Client.Txn(ctx).Then(ops...).Commit()
	if err != nil {
		return nil, readError(page[0].key(), r.Revision, err)
	}
	answers := resp.Responses
	next := func() *KV {
		kvs := answers[0].GetResponseRange().Kvs
		answers = answers[1:]
		if len(kvs) == 0 {
			return nil
		}
		kv := fromProto(kvs[0])
		return &kv
	}
	for i := range page {
		var p pair
		if page[i].before != nil {
			p.before = next()
		}
		if p.after = next(); p.before != nil && !r.lives(ctx, p.before.Lease) {
			p.before = nil
		}
		switch {
		case p.before == nil && p.after == nil: // it went meanwhile, or would have
		case p.before != nil && p.after != nil && p.before.Lease == p.after.Lease && bytes.Equal(p.before.Value, p.after.Value):
			r.same[p.after.Key] = p.after.ModRevision
		default:
			changes = append(changes, r.rewrite(p))
		}
	}
	return changes, nil
}

// write makes the changes, in their order. Those that did not hold are left to the next look.
func (r *Rewinder) write(ctx context.Context, changes []*rewrite, out *RewindResult) error {
	var mu sync.Mutex // guards out and r.same
	for _, rank := range divideRanks(changes) {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(rewindWriters)
		for _, c := range rank {
			g.Go(func() error {
				revision, err := c.commit(ctx, r.Live.Client)
				if err != nil || revision == 0 {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				if c.before == nil {
					out.Removed++
					delete(r.same, c.key)
				} else {
					out.Written++
					r.same[c.key] = revision
				}
				if l, ok := Locate(r.Decoder.Prefix, c.key); ok {
					out.Latest[l.Resource] = max(out.Latest[l.Resource], revision)
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// commit makes the change if the key is at the revision that was read. It returns the revision of the write, 0 if there
// was none.
func (c *rewrite) commit(ctx context.Context, client *clientv3.Client) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	revision := int64(0)
	if c.after != nil {
		revision = c.after.ModRevision
	}
	at := func(op clientv3.Op) (int64, error) {
		resp, err := client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(c.key), "=", revision)).Then(op).Commit()
		switch {
		case errors.Is(err, rpctypes.ErrLeaseNotFound): // it ended meanwhile
			return 0, nil
		case err != nil:
			return 0, fmt.Errorf("rewind %s: %w", c.key, noAnswer(err))
		case !resp.Succeeded:
			return 0, nil
		}
		return resp.Header.Revision, nil
	}
	if c.before == nil || c.other {
		deleted, err := at(clientv3.OpDelete(c.key))
		if err != nil || deleted == 0 || c.before == nil {
			return deleted, err
		}
		revision = 0
	}
	return at(clientv3.OpPut(c.key, string(c.before.Value), clientv3.WithLease(clientv3.LeaseID(c.before.Lease))))
}
