package etcd3

import (
	"context"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
)

const (
	// maxKeys limits the keys of one transaction. etcd's own limit is 128.
	maxKeys = 64
	// keysLimit is the timeout of a request that several callers share. Each caller also has a timeout of its own.
	keysLimit = 10 * time.Second
)

var (
	revisionRead = trace.Because("revision-read",
		"the key's revision, not its value: a linearizable read of a few bytes",
		"只读键的修订版本，不读值：几个字节的线性一致读")
	revisionReadTogether = trace.Because("revision-read-together",
		"the key's revision, not its value: a linearizable read of a few bytes, with {others} other readers' keys",
		"只读键的修订版本，不读值：几个字节的线性一致读，与其他 {others} 个读者的键合并")
)

// KeyRevision returns the modRevision of a key, 0 if nothing is there, and etcd's revision.
func (s *store) KeyRevision(ctx context.Context, key string) (object, storage int64, err error) {
	if key, err = s.prepareKey(key, false); err != nil {
		return 0, 0, err
	}
	ctx, step := trace.Start(ctx, steps.EtcdKeyRevision, key)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return 0, 0, err
	}
	if err := ctx.Err(); err != nil {
		// The caller has gone. Whether a question of others answers it first must not be left to chance.
		return 0, 0, err
	}
	answer := s.revisions.read(ctx, key)
	if answer.err != nil {
		return 0, 0, answer.err
	}
	if step.Recording() {
		step.Int("revision", answer.storage)
		step.Int("modRevision", answer.object)
		step.Why(revisionRead)
		if answer.together > 1 {
			step.Why(revisionReadTogether, int64(answer.together-1))
		}
	}
	return answer.object, answer.storage, nil
}

// revisionReader reads the revisions of keys, many at a time. While a request is under way it collects further
// callers, and then asks for all their keys in one transaction, which begins after all of them came. So each answer
// is as true as if its caller had asked alone, and many readers at once cost etcd little more than one. mu guards
// running and waiting.
type revisionReader struct {
	kv *kv

	mu      sync.Mutex
	running bool
	waiting []*revisionQuestion
}

// revisionQuestion is the question of one caller, and its answer once done is closed.
type revisionQuestion struct {
	key  string
	done chan struct{}
	revisionAnswer
}

type revisionAnswer struct {
	// object is the key's modRevision, 0 if nothing is there. storage is etcd's revision.
	object, storage int64
	// together counts the callers that share the answer.
	together int
	err      error
}

func (k *revisionReader) read(ctx context.Context, key string) revisionAnswer {
	k.mu.Lock()
	if !k.running {
		k.running = true
		k.mu.Unlock()
		defer k.next()
		return k.kv.revision(ctx, key)
	}
	q := &revisionQuestion{key: key, done: make(chan struct{})}
	k.waiting = append(k.waiting, q)
	k.mu.Unlock()
	select {
	case <-q.done:
		return q.revisionAnswer
	case <-ctx.Done():
		return revisionAnswer{err: ctx.Err()}
	}
}

// next asks for the callers that came meanwhile.
func (k *revisionReader) next() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.waiting) == 0 {
		k.running = false
		return
	}
	n := min(len(k.waiting), maxKeys)
	batch := k.waiting[:n:n]
	k.waiting = k.waiting[n:]
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), keysLimit)
		defer cancel()
		k.kv.revisions(ctx, batch)
		k.next()
	}()
}

// revision asks for one key.
func (k *kv) revision(ctx context.Context, key string) (answer revisionAnswer) {
	start := time.Now()
	resp, err := k.client.KV.Get(ctx, key, clientv3.WithKeysOnly())
	k.metrics.Request(ctx, metrics.OperationGetRevision, err, start)
	if err != nil {
		return revisionAnswer{err: err}
	}
	answer = revisionAnswer{storage: resp.Header.Revision, together: 1}
	if len(resp.Kvs) > 0 {
		answer.object = resp.Kvs[0].ModRevision
	}
	return answer
}

// revisions asks for many keys, each once, and answers all questions.
func (k *kv) revisions(ctx context.Context, batch []*revisionQuestion) {
	ops := make([]clientv3.Op, 0, len(batch))
	places := make(map[string]int, len(batch))
	for _, q := range batch {
		if _, asked := places[q.key]; !asked {
			places[q.key] = len(ops)
			ops = append(ops, clientv3.OpGet(q.key, clientv3.WithKeysOnly()))
		}
	}
	start := time.Now()
	resp, err := k.client.Txn(ctx).Then(ops...).Commit()
	k.metrics.Request(ctx, metrics.OperationGetRevision, err, start)
	if err == nil && len(resp.Responses) != len(ops) {
		err = fmt.Errorf("etcd answered %d of %d questions", len(resp.Responses), len(ops))
	}
	for _, q := range batch {
		q.revisionAnswer = revisionAnswer{err: err}
		if err == nil {
			q.storage, q.together = resp.Header.Revision, len(batch)
			if kvs := resp.Responses[places[q.key]].GetResponseRange().GetKvs(); len(kvs) > 0 {
				q.object = kvs[0].ModRevision
			}
		}
		close(q.done)
	}
}
