package etcd3

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/trace"
	storage "github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
	"github.com/kx-apiserver/kx/store/transform"
)

var _ storage.EncodedSource = (*store)(nil)

// decodeEncoded is the Decode of the store's object.Format.
func (s *store) decodeEncoded(key string, data []byte, into runtime.Object, revision int64, wantFinal bool) (final bool, err error) {
	if err := s.decoder.Decode(data, into, revision); err != nil {
		s.metrics.DecodeError()
		return false, decodeError(key, err)
	}
	return wantFinal && s.writesAgain(data, into), nil
}

// writesAgain says whether obj is encoded to the bytes that it was decoded from. Then decoding pruned nothing, set no
// defaults and converted nothing, and the bytes are as an encoder writes them. It changes obj.
func (s *store) writesAgain(data []byte, obj runtime.Object) bool {
	if s.versioner.PrepareObjectForStorage(obj) != nil {
		return false
	}
	again, err := runtime.Encode(s.codec, obj)
	return err == nil && string(again) == string(data)
}

// newEncoded makes an object of a stored value. If that can't be decrypted, the object returns the error to its
// readers.
func (s *store) newEncoded(ctx context.Context, kv *mvccpb.KeyValue) *object.Encoded {
	key := string(kv.Key)
	data, stale, err := s.transformer.TransformFromStorage(ctx, kv.Value, transform.DefaultContext(kv.Key))
	if err != nil {
		return object.NewUnreadable(s.format, key, kv.ModRevision, transformError(key, err))
	}
	return object.NewEncoded(s.format, key, data, kv.ModRevision, stale)
}

// transient wraps an object that one reader gets and no cache keeps, as a step.
func (s *store) transient(ctx context.Context, kv *mvccpb.KeyValue) *object.Encoded {
	key := string(kv.Key)
	data, stale, err := s.transformFromStorage(ctx, key, kv.Value, transform.DefaultContext(kv.Key))
	if err != nil {
		return object.NewUnreadable(s.format, key, kv.ModRevision, err)
	}
	return object.NewTransient(s.format, key, data, kv.ModRevision, stale)
}

var (
	readLatest = trace.Because("read-latest",
		"read from etcd by a linearizable read: the latest there is",
		"从 etcd 线性一致读：最新的内容")
	readOlder = trace.Because("read-older",
		"etcd is at revision {revision}, older than what was asked for",
		"etcd 在修订版本 {revision}，旧于请求的版本")
)

// getEncoded reads the object at one of etcd's keys. It returns nil if there is none and that is no error.
func (s *store) getEncoded(ctx context.Context, step *trace.Step, key string, opts storage.GetOptions) (*object.Encoded, error) {
	noteText(step, "resourceVersion", opts.ResourceVersion)
	resp, err := s.kv.get(ctx, metrics.OperationGet, key, 0)
	if err != nil {
		return nil, err
	}
	step.Int("revision", resp.Revision)
	if err := s.validateMinimumResourceVersion(opts.ResourceVersion, uint64(resp.Revision)); err != nil {
		step.Why(readOlder, resp.Revision)
		return nil, err
	}
	if resp.KV == nil {
		return nil, notFound(ctx, key, opts.IgnoreNotFound)
	}
	step.Why(readLatest)
	data, stale, err := s.transformFromStorage(ctx, key, resp.KV.Value, authenticatedDataString(key))
	if err != nil {
		return nil, err
	}
	return object.NewTransient(s.format, key, data, resp.KV.ModRevision, stale), nil
}

func timeoutError(key []byte) error {
	return storage.NewTimeoutError(string(key), "request did not complete within requested timeout")
}

// WatchEncoded is Watch: events are decoded anyway, to select them.
func (s *store) WatchEncoded(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	return s.Watch(ctx, key, opts)
}

func (s *store) ReadAll(ctx context.Context, key string, pageSize int64, each func(*object.Encoded)) (revision int64, err error) {
	prefix, err := s.prepareKey(key, true)
	if err != nil {
		return 0, err
	}
	if pageSize == 0 {
		pageSize = fillLimit
	}
	for continueKey := ""; ; {
		page, err := s.kv.list(ctx, prefix, kubernetes.ListOptions{Revision: revision, Limit: pageSize, Continue: continueKey})
		if err != nil {
			return 0, s.listError(ctx, err, revision, false, "", prefix)
		}
		if revision == 0 {
			revision = page.Revision
		}
		for i, kv := range page.Kvs {
			each(s.newEncoded(ctx, kv))
			continueKey = string(kv.Key) + "\x00"
			page.Kvs[i] = nil
		}
		if int64(len(page.Kvs)) >= page.Count {
			return revision, nil
		}
		if len(page.Kvs) == 0 {
			return 0, errNothingFound
		}
	}
}

func (s *store) Follow(ctx context.Context, key string, revision int64, handle func(storage.Changes) error) error {
	key, err := s.prepareKey(key, true)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opts := []clientv3.OpOption{clientv3.WithRev(revision + 1), clientv3.WithPrefix(), clientv3.WithProgressNotify(),
		clientv3.WithCreatedNotify()}
	for resp := range s.kv.client.Watch(clientv3.WithRequireLeader(onStream(ctx)), key, opts...) {
		if err := resp.Err(); err != nil {
			return interpretWatchError(err)
		}
		if resp.Created {
			if err := handle(storage.Changes{}); err != nil {
				return err
			}
			continue
		}
		if resp.IsProgressNotify() {
			s.metrics.Bookmark()
		}
		changes := storage.Changes{Revision: resp.Header.Revision, Changes: make([]storage.Change, 0, len(resp.Events))}
		if n := len(resp.Events); n > 0 {
			// The header's revision is etcd's when it sent them: later changes may be on their way.
			changes.Revision = resp.Events[n-1].Kv.ModRevision
		}
		for _, e := range resp.Events {
			changes.Changes = append(changes.Changes, s.change(ctx, e))
		}
		if err := handle(changes); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fmt.Errorf("etcd ended the watch of %s", key)
}

// change makes a change of an event that Follow got.
func (s *store) change(ctx context.Context, e *clientv3.Event) storage.Change {
	if estimator := s.estimator.Load(); estimator != nil {
		estimator.observe(e)
	}
	return s.changed(ctx, e)
}

// changed makes a change of an event of the present or of the past.
func (s *store) changed(ctx context.Context, e *clientv3.Event) storage.Change {
	s.metrics.Event()
	change := storage.Change{Revision: e.Kv.ModRevision}
	if e.Type == clientv3.EventTypeDelete {
		change.Key = string(e.Kv.Key)[s.format.KeyPrefix:]
		return change
	}
	change.Object = s.newEncoded(ctx, e.Kv)
	change.Key = change.Object.Key()
	return change
}

// OnWrite registers the one function that is called with each object that this store writes.
func (s *store) OnWrite(seen func(ctx context.Context, obj *object.Encoded)) { s.onWrite.Store(&seen) }
