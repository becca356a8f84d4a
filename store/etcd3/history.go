package etcd3

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"

	"github.com/kx-apiserver/kx/core/object"
	storage "github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
)

// progressAsk is the interval at which a reader of history requests a progress notification. etcd answers only when
// it has sent all changes.
const progressAsk = 25 * time.Millisecond

// History implements storage.EncodedSource. It is a watch that ends when etcd has sent what there was: then etcd
// answers a request for progress. The watch has a stream of its own, since such requests are lost on a stream on which
// another watch catches up.
func (s *store) History(ctx context.Context, key string, after, until int64, handle func(storage.PastChanges) error) error {
	key, err := s.prepareKey(key, true)
	if err != nil {
		return err
	}
	h := &pastReader{store: s, until: until, latest: map[string]*object.Encoded{}, handle: handle}
	// Its address names the stream: no other reader has it meanwhile.
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, "source", fmt.Sprintf("history-%p", h)))
	ctx = clientv3.WithRequireLeader(onStream(ctx))
	opts := []clientv3.OpOption{clientv3.WithRev(after + 1), clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithCreatedNotify()}
	defer cancel()
	responses := s.kv.client.Watch(ctx, key, opts...)
	ask := time.NewTicker(progressAsk)
	defer ask.Stop()
	for created := false; ; {
		select {
		case resp, ok := <-responses:
			if !ok {
				return errors.Join(ctx.Err(), fmt.Errorf("etcd ended the watch of the history of %s", key))
			}
			created = created || resp.Created
			if done, err := h.take(ctx, &resp); done || err != nil {
				return err
			}
		case <-ask.C:
			if !created {
				continue
			}
			if err := s.kv.client.RequestProgress(ctx); err != nil {
				return err
			}
		}
	}
}

// pastReader is one call of History.
type pastReader struct {
	store  *store
	until  int64
	handle func(storage.PastChanges) error
	// latest holds the state of each key after the changes so far: the previous state of its next change.
	latest map[string]*object.Encoded
}

// take takes what etcd sent, and says whether that was all.
func (h *pastReader) take(ctx context.Context, resp *clientv3.WatchResponse) (done bool, err error) {
	if err := resp.Err(); err != nil {
		if errors.Is(err, rpctypes.ErrCompacted) {
			return false, &storage.CompactedError{Oldest: resp.CompactRevision - 1}
		}
		return false, err
	}
	if resp.IsProgressNotify() {
		if resp.Header.Revision < h.until {
			return false, nil
		}
		return true, h.handle(storage.PastChanges{Revision: h.until})
	}
	var batch storage.PastChanges
	for _, e := range resp.Events {
		if e.Kv.ModRevision > h.until {
			batch.Revision = h.until
			return true, h.handle(batch)
		}
		change, err := h.change(ctx, e)
		if err != nil {
			return false, err
		}
		batch.Changes, batch.Revision = append(batch.Changes, change), e.Kv.ModRevision
	}
	if len(batch.Changes) == 0 {
		return false, nil
	}
	return batch.Revision == h.until, h.handle(batch)
}

// change makes a change of etcd's event.
func (h *pastReader) change(ctx context.Context, e *clientv3.Event) (change storage.PastChange, err error) {
	change.Change = h.store.changed(ctx, e)
	prev, err := h.store.previous(ctx, e)
	if errors.Is(err, rpctypes.ErrCompacted) {
		return change, &storage.CompactedError{Oldest: e.Kv.ModRevision}
	}
	if err != nil {
		return change, err
	}
	if prev != nil {
		if change.Before = h.latest[change.Key]; change.Before == nil || change.Before.Revision() != prev.ModRevision {
			change.Before = h.store.newEncoded(ctx, prev)
		}
	}
	h.latest[change.Key] = change.Object
	return change, nil
}

// previous returns the value of an event's key before the event, nil if the event created it. etcd sends it with the
// event, with two exceptions: the first events of a watch that etcd is still registering, and events whose previous
// revision has been compacted.
func (s *store) previous(ctx context.Context, e *clientv3.Event) (*mvccpb.KeyValue, error) {
	if e.IsCreate() || e.PrevKv != nil {
		return e.PrevKv, nil
	}
	resp, err := s.kv.get(ctx, metrics.OperationGet, string(e.Kv.Key), e.Kv.ModRevision-1)
	if err == nil && resp.KV == nil {
		err = fmt.Errorf("etcd has nothing at %q before revision %d, and says that this revision changed it", e.Kv.Key, e.Kv.ModRevision)
	}
	return resp.KV, err
}
