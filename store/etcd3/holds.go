package etcd3

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
)

// Holds implements storage.EncodedSource. Keys and revisions are compared, without values, and of the newest object the
// bytes: where two histories part, it could be that the same key was written at the same revision in both.
func (s *store) Holds(ctx context.Context, key string, revision int64, objects iter.Seq[*object.Encoded]) (bool, error) {
	prefix, err := s.prepareKey(key, true)
	if err != nil {
		return false, err
	}
	next, stop := iter.Pull(objects)
	defer stop()
	var newest *object.Encoded
	end := clientv3.GetPrefixRangeEnd(prefix)
	for from := prefix; ; {
		page, err := s.kv.keysAt(ctx, from, end, revision)
		if errors.Is(err, rpctypes.ErrFutureRev) {
			return false, nil // there is no such revision yet: etcd is at an earlier one
		}
		if err != nil {
			return false, interpretWatchError(err)
		}
		for _, kv := range page.Kvs {
			obj, ok := next()
			if !ok || obj.Revision() != kv.ModRevision || obj.Key() != string(kv.Key)[s.format.KeyPrefix:] {
				return false, nil
			}
			if newest == nil || newest.Revision() < obj.Revision() {
				newest = obj
			}
			from = string(kv.Key) + "\x00"
		}
		if !page.More {
			break
		}
		if len(page.Kvs) == 0 {
			return false, fmt.Errorf("no keys were found below %s, but etcd indicated there were more", prefix)
		}
	}
	if _, more := next(); more {
		return false, nil
	}
	return s.sameBytes(ctx, newest, revision)
}

// sameBytes says whether etcd has the bytes of obj at a revision at which it has its key.
func (s *store) sameBytes(ctx context.Context, obj *object.Encoded, revision int64) (bool, error) {
	if obj == nil || obj.Err() != nil {
		return true, nil
	}
	resp, err := s.kv.get(ctx, metrics.OperationGet, s.pathPrefix[:s.format.KeyPrefix]+obj.Key(), revision)
	if err != nil {
		return false, interpretWatchError(err)
	}
	if resp.KV == nil {
		return false, nil
	}
	stored := s.newEncoded(ctx, resp.KV)
	return stored.Err() != nil || obj.EqualStored(stored.Stored()), nil
}

// keysPage bounds a page of keys. For each page etcd counts all keys that are left, so small pages of very many keys
// cost it more than the keys.
const keysPage = 50_000

// keysAt reads a page of keys, and their revisions, at a revision.
func (k *kv) keysAt(ctx context.Context, from, end string, revision int64) (*clientv3.GetResponse, error) {
	start := time.Now()
	resp, err := k.client.KV.Get(ctx, from, clientv3.WithRange(end), clientv3.WithRev(revision), clientv3.WithKeysOnly(),
		clientv3.WithLimit(keysPage))
	k.metrics.Request(ctx, metrics.OperationList, err, start)
	return resp, err
}
