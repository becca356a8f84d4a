package etcd3

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	storage "github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
)

// kv is etcd as this package calls it. Every request is traced and counted here and nowhere else.
type kv struct {
	client  *kubernetes.Client
	gate    *Gate
	metrics *metrics.Resource
}

// get reads one key, at a revision or (0) linearizably.
func (k *kv) get(ctx context.Context, operation metrics.Operation, key string, revision int64) (resp kubernetes.GetResponse, err error) {
	ctx, step := trace.Start(ctx, steps.EtcdGet, key)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return resp, err
	}
	start := time.Now()
	resp, err = k.client.Kubernetes.Get(ctx, key, kubernetes.GetOptions{Revision: revision})
	k.metrics.Request(ctx, operation, err, start)
	if !step.Recording() || err != nil {
		return resp, err
	}
	if revision != 0 {
		step.Int("atRevision", revision)
	}
	step.Int("revision", resp.Revision)
	if resp.KV != nil {
		step.Int("modRevision", resp.KV.ModRevision)
		step.Int("bytes", int64(len(resp.KV.Value)))
	}
	return resp, nil
}

// list reads a page of the keys below prefix.
func (k *kv) list(ctx context.Context, prefix string, opts kubernetes.ListOptions) (resp kubernetes.ListResponse, err error) {
	ctx, step := trace.Start(ctx, steps.EtcdRange, prefix)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return resp, err
	}
	start := time.Now()
	resp, err = k.client.Kubernetes.List(ctx, prefix, opts)
	k.metrics.Request(ctx, metrics.OperationList, err, start)
	if !step.Recording() || err != nil {
		return resp, err
	}
	if opts.Continue != "" {
		step.Text("after", strings.TrimSuffix(opts.Continue, "\x00"))
	}
	if opts.Limit != 0 {
		step.Int("limit", opts.Limit)
	}
	if opts.Revision != 0 {
		step.Int("atRevision", opts.Revision)
	}
	bytes := 0
	for _, kv := range resp.Kvs {
		bytes += len(kv.Value)
	}
	step.Int("revision", resp.Revision)
	step.Int("keys", int64(len(resp.Kvs)))
	step.Int("count", resp.Count)
	step.Int("bytes", int64(bytes))
	return resp, nil
}

// count counts the keys below prefix. No request of a client leads here, so there is no step.
func (k *kv) count(ctx context.Context, prefix string) (int64, error) {
	start := time.Now()
	count, err := k.client.Kubernetes.Count(ctx, prefix, kubernetes.CountOptions{})
	k.metrics.Request(ctx, metrics.OperationCount, err, start)
	return count, err
}

// txn is a write of one key that happens only if its modRevision is still revision; 0 says that the key is free. A txn
// with another key is a put of a free one.
type txn struct {
	operation metrics.Operation
	key       string
	revision  int64
	// delete removes the key; otherwise value is put.
	delete bool
	value  []byte
	lease  clientv3.LeaseID
	// getOnFailure reads the key, in the same transaction, if its modRevision is another.
	getOnFailure bool
	// other is a key that must be at otherRevision, too. Without it there is none.
	other         string
	otherRevision int64
}

// txnResult tells whether a txn wrote, etcd's revision after it, and the value that it read instead.
type txnResult struct {
	succeeded bool
	revision  int64
	kv        *mvccpb.KeyValue
	// moved means that the other key is at another revision, which is otherRevision; 0 if the key is gone.
	moved         bool
	otherRevision int64
}

// commit executes t.
func (k *kv) commit(ctx context.Context, t txn) (result txnResult, err error) {
	ctx, step := trace.Start(ctx, steps.EtcdTxn, t.key)
	defer step.End(&err)
	if step.Recording() {
		t.describe(step)
	}
	if err := step.Err(); err != nil {
		return result, err
	}
	start := time.Now()
	result, err = k.execute(ctx, &t)
	if errors.Is(err, storage.ErrRewound) {
		step.Why(decidedBeforeRewind)
		return result, err
	}
	k.metrics.Request(ctx, t.operation, err, start)
	if err != nil {
		return result, interpretWriteError(err)
	}
	if result.succeeded {
		trace.Wrote(ctx, result.revision)
	}
	if step.Recording() {
		result.describe(step, &t)
	}
	return result, nil
}

var decidedBeforeRewind = trace.Because("decided-before-rewind",
	"a rewind came between the decision and this write: nothing was written, and the decision is made again",
	"在作出决定和这次写入之间发生了一次回退：没有写入，需要重新决定")

// execute sends t to etcd, behind the gate. No step lies in between: a rewind waits for what is behind the gate, and a
// step may be held for as long as a user likes.
func (k *kv) execute(ctx context.Context, t *txn) (txnResult, error) {
	if err := k.gate.pass(ctx); err != nil {
		return txnResult{}, err
	}
	defer k.gate.leave()
	if t.delete {
		resp, err := k.client.Kubernetes.OptimisticDelete(ctx, t.key, t.revision,
			kubernetes.DeleteOptions{GetOnFailure: t.getOnFailure})
		return txnResult{succeeded: resp.Succeeded, revision: resp.Revision, kv: resp.KV}, err
	}
	if t.other != "" {
		return k.putBeside(ctx, t)
	}
	resp, err := k.client.Kubernetes.OptimisticPut(ctx, t.key, t.value, t.revision,
		kubernetes.PutOptions{LeaseID: t.lease, GetOnFailure: t.getOnFailure})
	return txnResult{succeeded: resp.Succeeded, revision: resp.Revision, kv: resp.KV}, err
}

// putBeside executes a put that depends on another key.
func (k *kv) putBeside(ctx context.Context, t *txn) (result txnResult, err error) {
	otherwise := []clientv3.Op{clientv3.OpGet(t.other, clientv3.WithKeysOnly())}
	if t.getOnFailure {
		otherwise = append(otherwise, clientv3.OpGet(t.key))
	}
	resp, err := k.client.Txn(ctx).If(
		clientv3.Compare(clientv3.ModRevision(t.key), "=", t.revision),
		clientv3.Compare(clientv3.ModRevision(t.other), "=", t.otherRevision),
	).Then(
		clientv3.OpPut(t.key, string(t.value), clientv3.WithLease(t.lease)),
	).Else(otherwise...).Commit()
	if err != nil {
		return result, err
	}
	result = txnResult{succeeded: resp.Succeeded, revision: resp.Header.Revision}
	if resp.Succeeded {
		return result, nil
	}
	read := make([]*mvccpb.KeyValue, len(otherwise))
	for i, one := range resp.Responses {
		if kvs := one.GetResponseRange().GetKvs(); len(kvs) > 0 {
			read[i] = kvs[0]
		}
	}
	if read[0] != nil {
		result.otherRevision = read[0].ModRevision
	}
	result.moved = result.otherRevision != t.otherRevision
	if t.getOnFailure {
		result.kv = read[1]
	}
	return result, nil
}

// describe notes the exact transaction, with sizes in the place of values.
func (t *txn) describe(step *trace.Step) {
	step.Text("compare", "mod("+t.key+") = "+strconv.FormatInt(t.revision, 10))
	var failure []string
	if t.other != "" {
		step.Text("condition", "mod("+t.other+") = "+strconv.FormatInt(t.otherRevision, 10))
		failure = append(failure, "get "+t.other+" without its value")
	}
	success := "delete " + t.key
	if !t.delete {
		success = "put " + t.key + ", " + strconv.Itoa(len(t.value)) + " bytes"
	}
	if t.lease != clientv3.NoLease {
		success += ", lease " + strconv.FormatInt(int64(t.lease), 16)
	}
	step.Text("success", success)
	if t.getOnFailure {
		failure = append(failure, "get "+t.key)
	}
	if failure != nil {
		step.Text("failure", strings.Join(failure, "; "))
	}
}

var (
	keyWasFree   = trace.Because("key-was-free", "the key was free", "该键空闲")
	keyUnchanged = trace.Because("key-unchanged",
		"the key was still at revision {revision}",
		"该键仍在修订版本 {revision}")
	keyMoved = trace.Because("key-moved",
		"the key is at revision {revision}, not {expected}: nothing was written",
		"该键在修订版本 {revision}，不是 {expected}：没有写入")
	keyTaken = trace.Because("key-taken", "the key is taken: nothing was written", "该键已被占用：没有写入")
	keyGone  = trace.Because("key-gone",
		"the key is gone, so it is no longer at revision {expected}: nothing was written",
		"该键已不存在，不在修订版本 {expected}：没有写入")
	keyFreeOtherSame = trace.Because("key-free-other-same",
		"the key was free, and {key:word} still at revision {revision}",
		"该键空闲，{key:word} 仍在修订版本 {revision}")
	otherMoved = trace.Because("other-moved",
		"{key:word} is at revision {revision}, not {expected}: nothing was written",
		"{key:word} 在修订版本 {revision}，不是 {expected}：没有写入")
	otherGone = trace.Because("other-gone",
		"{key:word} is gone, so it is no longer at revision {expected}: nothing was written",
		"{key:word} 已不存在，不在修订版本 {expected}：没有写入")
)

func (r *txnResult) describe(step *trace.Step, t *txn) {
	expected := t.revision
	step.Int("revision", r.revision)
	switch {
	case r.succeeded && t.other != "":
		step.WhyText(keyFreeOtherSame, t.other, t.otherRevision)
	case r.moved && r.otherRevision == 0:
		step.WhyText(otherGone, t.other, t.otherRevision)
	case r.moved:
		step.WhyText(otherMoved, t.other, r.otherRevision, t.otherRevision)
	case r.succeeded && expected == 0:
		step.Why(keyWasFree)
	case r.succeeded:
		step.Why(keyUnchanged, expected)
	case r.kv != nil:
		step.Int("modRevision", r.kv.ModRevision)
		step.Int("bytes", int64(len(r.kv.Value)))
		step.Why(keyMoved, r.kv.ModRevision, expected)
	case expected == 0:
		step.Why(keyTaken)
	default:
		step.Why(keyGone, expected)
	}
}

// watch opens a watch from a revision on, inclusive.
func (k *kv) watch(ctx context.Context, key string, revision int64, recursive, progressNotify bool) clientv3.WatchChan {
	ctx, step := trace.Start(ctx, steps.EtcdWatch, key)
	defer step.End(nil)
	step.Int("fromRevision", revision)
	opts := []clientv3.OpOption{clientv3.WithRev(revision), clientv3.WithPrevKV()}
	if recursive {
		opts = append(opts, clientv3.WithPrefix())
	}
	if progressNotify {
		opts = append(opts, clientv3.WithProgressNotify())
	}
	return k.client.Watch(clientv3.WithRequireLeader(ctx), key, opts...)
}

// requestProgress asks for progress on the stream that watch uses: the one with the same outgoing metadata. If that has
// just ended it opens one, and a watch that is then begun on that must not outlive its connection either.
func (k *kv) requestProgress(ctx context.Context) error {
	return k.client.RequestProgress(clientv3.WithRequireLeader(onStream(ctx)))
}

// wrote is called after a write of in, encoded as data, at revision. It passes the object to the function set by
// OnWrite, and decodes it into out unless out is nil.
func (s *store) wrote(ctx context.Context, key string, data []byte, in, out runtime.Object, revision int64) (*object.Encoded, error) {
	obj := object.NewEncoded(s.format, key, data, revision, false)
	if c, ok := s.codec.(finalCodec); ok && c.IsFinal(in) {
		obj.LearnFinal()
	}
	if seen := s.onWrite.Load(); seen != nil {
		(*seen)(ctx, obj)
	}
	return obj, s.fill(ctx, key, obj, data, out)
}

// fill decodes data, which is obj, into out. If out is nil the caller makes its answer of obj.
func (s *store) fill(ctx context.Context, key string, obj *object.Encoded, data []byte, out runtime.Object) error {
	if out == nil {
		out = obj
	}
	return s.decode(ctx, key, data, out, obj.Revision())
}

// finalCodec reports whether an object that it has just encoded decodes to the same object. Then its bytes are the
// answer, and the store need not decode them to compare.
type finalCodec interface{ IsFinal(obj runtime.Object) bool }
