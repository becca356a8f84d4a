package etcd3

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// compactRevKey is where the processes on one etcd, kx or not, agree on compactions. It is below no prefix.
	compactRevKey = "compact_rev_key"

	// watchRetry is the pause of the watch of compactRevKey after a failure.
	watchRetry = time.Second
)

// Compactor reports which revisions have been compacted.
type Compactor interface {
	// CompactRevision is the newest revision known to be compacted, 0 if none is known.
	CompactRevision() int64
}

// PeriodicCompactor compacts etcd's history, together with all others on the same etcd.
//
// The key compact_rev_key holds the revision that was compacted last, and its version counts the compactions: it is
// the clock that all processes share. A process that still finds the same version at the end of its interval writes
// the key, which increments the version, and compacts the revision of one interval ago. All others see that it was
// first, remember the new version and wait for another interval.
//
//	etcd's revision          r0             r1             r2
//	                      ---+--------------+--------------+---->
//	process A                first: key=0   first: key=r0  (gone)
//	process B                   not first       not first       first: key=r1
//
// So history is kept for one interval at least, and for two at most when the process that compacts ends. A process
// whose pins need the revision leaves the round to the others, which do not know them.
type PeriodicCompactor struct {
	client   *clientv3.Client
	interval time.Duration
	pins     *Pins
	log      *slog.Logger

	cancel   context.CancelFunc
	running  sync.WaitGroup
	revision atomic.Int64
}

// StartCompactor starts to compact every interval, and to watch what others compact; an interval of 0 only watches. Its
// client stays the caller's. It leaves out the rounds that pins forbid; nil has none. Failures are logged, and tried
// again an interval later.
func StartCompactor(client *clientv3.Client, interval time.Duration, pins *Pins, log *slog.Logger) *PeriodicCompactor {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &PeriodicCompactor{client: client, interval: interval, pins: pins, log: log, cancel: cancel}
	if interval > 0 {
		c.running.Go(func() { c.compact(ctx) })
	}
	c.running.Go(func() { c.watch(ctx) })
	return c
}

// Stop ends the compactor and waits for it. Further calls do nothing.
func (c *PeriodicCompactor) Stop() {
	c.cancel()
	c.running.Wait()
}

func (c *PeriodicCompactor) CompactRevision() int64 { return c.revision.Load() }

// observe notes a compaction. News may come late and out of order.
func (c *PeriodicCompactor) observe(revision int64) {
	for known := c.revision.Load(); revision > known; known = c.revision.Load() {
		if c.revision.CompareAndSwap(known, revision) {
			return
		}
	}
}

func (c *PeriodicCompactor) compact(ctx context.Context) {
	var version, revision int64
	ticker := time.NewTicker(c.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if c.pins.forbid(revision) {
			continue // the revision stays the one to compact
		}
		var compacted int64
		var err error
		version, revision, compacted, err = Compact(ctx, c.client, version, revision)
		if err != nil && ctx.Err() == nil {
			c.log.Error("etcd was not compacted", "revision", revision, "error", err)
		}
		c.observe(compacted)
	}
}

// Compact compacts etcd up to revision rev if compact_rev_key still has version expectVersion. It returns the key's
// version and etcd's revision now, for the next call, and the revision that was compacted, by this call or by another
// process; 0 if there was none. That another process was first is no error.
func Compact(ctx context.Context, client *clientv3.Client, expectVersion, rev int64) (currentVersion, currentRev, compactRev int64,
	err error) {
	resp, err := client.Txn(ctx).If(
		clientv3.Compare(clientv3.Version(compactRevKey), "=", expectVersion),
	).Then(
		clientv3.OpPut(compactRevKey, strconv.FormatInt(rev, 10)),
	).Else(
		clientv3.OpGet(compactRevKey),
	).Commit()
	if err != nil {
		return expectVersion, rev, 0, fmt.Errorf("agree on a compaction by %s: %w", compactRevKey, err)
	}
	if !resp.Succeeded {
		kvs := resp.Responses[0].GetResponseRange().Kvs
		if len(kvs) == 0 {
			// The key was removed: the next round starts over.
			return 0, resp.Header.Revision, 0, nil
		}
		// A value that is no number says nothing; its version counts.
		compactRev, _ = strconv.ParseInt(string(kvs[0].Value), 10, 64)
		return kvs[0].Version, resp.Header.Revision, compactRev, nil
	}
	if rev == 0 {
		// The revision of an interval ago is not known yet.
		return expectVersion + 1, resp.Header.Revision, 0, nil
	}
	if _, err := client.Compact(ctx, rev); err != nil {
		return expectVersion + 1, resp.Header.Revision, 0, fmt.Errorf("compact revision %d: %w", rev, err)
	}
	return expectVersion + 1, resp.Header.Revision, rev, nil
}

// CompactNow compacts etcd up to a revision, 0 being the present one, whenever the others do, and tells them of it. It
// returns the revision.
func CompactNow(ctx context.Context, client *clientv3.Client, revision int64) (int64, error) {
	for {
		resp, err := client.Get(ctx, compactRevKey)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", compactRevKey, err)
		}
		var version, before int64
		for _, kv := range resp.Kvs {
			version = kv.Version
			before, _ = strconv.ParseInt(string(kv.Value), 10, 64)
		}
		if revision == 0 {
			revision = resp.Header.Revision
		}
		if revision <= before || revision > resp.Header.Revision {
			return 0, fmt.Errorf("compact revision %d: %w: etcd has %d to %d", revision, ErrNoRevision, before+1, resp.Header.Revision)
		}
		_, _, compacted, err := Compact(ctx, client, version, revision)
		if errors.Is(err, rpctypes.ErrCompacted) { // by somebody who does not tell the others
			return 0, fmt.Errorf("compact revision %d: %w: etcd has compacted it already", revision, ErrNoRevision)
		}
		if err != nil || compacted >= revision {
			return compacted, err
		}
		// Another one was first, and compacted less.
	}
}

// ErrNoRevision: CompactNow refuses a revision that is compacted already or does not exist yet.
var ErrNoRevision = errors.New("there is no such revision to compact")

// watch observes what others compact.
func (c *PeriodicCompactor) watch(ctx context.Context) {
	for {
		err := c.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		c.log.Warn("the watch of compactions ended and is opened again", "key", compactRevKey, "error", err)
		select {
		case <-time.After(watchRetry):
		case <-ctx.Done():
			return
		}
	}
}

// follow reads compactRevKey and watches it until that fails.
func (c *PeriodicCompactor) follow(ctx context.Context) error {
	resp, err := c.client.Get(ctx, compactRevKey)
	if err != nil {
		return err
	}
	for _, kv := range resp.Kvs {
		c.observeValue(kv.Value)
	}
	for resp := range c.client.Watch(ctx, compactRevKey, clientv3.WithRev(resp.Header.Revision+1)) {
		if err := resp.Err(); err != nil {
			return err
		}
		for _, e := range resp.Events {
			c.observeValue(e.Kv.Value)
		}
	}
	return nil
}

// observeValue notes a compaction by the value of compactRevKey. One that is no number, or that of a deletion, says
// nothing.
func (c *PeriodicCompactor) observeValue(value []byte) {
	if revision, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		c.observe(revision)
	}
}
