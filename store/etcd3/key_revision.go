package etcd3

import (
	"context"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
)

const (
	// maxKeys is how many keys are asked for in one transaction. etcd's own limit is 128.
	maxKeys = 64
	// keysLimit bounds a question that several wait for. Each of them also has a time of its own.
	keysLimit = 10 * time.Second
)

// keyRevisions asks etcd for the revisions of keys. While a question is under way, others who want to know are collected:
// their keys are asked for together, in one transaction that begins after all of them asked. So each answer is as true as
// if it had been asked for alone, and many readers at once cost etcd, and the way there, little more than one.
type keyRevisions struct {
	kv *kv

	mu      sync.Mutex
	running bool
	waiting []*keyQuestion
}

// keyQuestion is one caller's.
type keyQuestion struct {
	key  string
	done chan struct{}
	keyAnswer
}

type keyAnswer struct {
	// object is the key's modRevision, 0 if nothing is there, and storage etcd's revision.
	object, storage int64
	// together is how many were asked for at once.
	together int
	err      error
}

// ask is the modRevision of a key, 0 if nothing is there, and etcd's revision.
func (k *keyRevisions) ask(ctx context.Context, key string) (object, storage int64, err error) {
	ctx, step := trace.Start(ctx, trace.EtcdKeyRevision, key)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return 0, 0, err
	}
	if err := ctx.Err(); err != nil {
		// Nobody waits for the answer; others' question, if one is under way, must not win against that by chance.
		return 0, 0, err
	}
	answer := k.answer(ctx, key)
	if answer.err != nil {
		return 0, 0, answer.err
	}
	if step.Recording() {
		step.Int("revision", answer.storage)
		step.Int("modRevision", answer.object)
		step.Why("the key's revision, not its value: a linearizable read of a few bytes")
		if answer.together > 1 {
			step.Whyf("the key's revision, not its value: a linearizable read of a few bytes, with %d other readers' keys", answer.together-1)
		}
	}
	return answer.object, answer.storage, nil
}

func (k *keyRevisions) answer(ctx context.Context, key string) keyAnswer {
	k.mu.Lock()
	if !k.running {
		k.running = true
		k.mu.Unlock()
		defer k.next()
		return k.kv.keyRevision(ctx, key)
	}
	q := &keyQuestion{key: key, done: make(chan struct{})}
	k.waiting = append(k.waiting, q)
	k.mu.Unlock()
	select {
	case <-q.done:
		return q.keyAnswer
	case <-ctx.Done():
		return keyAnswer{err: ctx.Err()}
	}
}

// next asks what was collected meanwhile.
func (k *keyRevisions) next() {
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
		k.kv.keyRevisions(ctx, batch)
		k.next()
	}()
}

// keyRevision asks for one key.
func (k *kv) keyRevision(ctx context.Context, key string) (answer keyAnswer) {
	start := time.Now()
	resp, err := k.client.KV.Get(ctx, key, clientv3.WithKeysOnly())
	k.requests.Record(metrics.OperationGetRevision, err, start)
	if err != nil {
		return keyAnswer{err: err}
	}
	answer = keyAnswer{storage: resp.Header.Revision, together: 1}
	if len(resp.Kvs) > 0 {
		answer.object = resp.Kvs[0].ModRevision
	}
	return answer
}

// keyRevisions asks for many, each key once, and answers all.
func (k *kv) keyRevisions(ctx context.Context, batch []*keyQuestion) {
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
	k.requests.Record(metrics.OperationGetRevision, err, start)
	if err == nil && len(resp.Responses) != len(ops) {
		err = fmt.Errorf("etcd answered %d of %d questions", len(resp.Responses), len(ops))
	}
	for _, q := range batch {
		q.keyAnswer = keyAnswer{err: err}
		if err == nil {
			q.storage, q.together = resp.Header.Revision, len(batch)
			if kvs := resp.Responses[places[q.key]].GetResponseRange().GetKvs(); len(kvs) > 0 {
				q.object = kvs[0].ModRevision
			}
		}
		close(q.done)
	}
}
