package etcd3

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	storage "github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
)

var (
	writeConflict = trace.Because("write-conflict",
		"conflict: the key is no longer at revision {revision}: try again with the stored object",
		"版本冲突：该键已不在修订版本 {revision}：用已存储的对象重试")
	suggestionRefused = trace.Because("suggestion-refused",
		"refused on a suggested state that etcd no longer has: try again with the stored object",
		"基于缓存提供的旧状态被拒绝，etcd 中已是另一状态：用已存储的对象重试")
	suggestionRead = trace.Because("suggestion-read",
		"the caller has read the object at {revision}: that is checked first, without reading and decoding it again",
		"调用方已读到该对象的修订版本 {revision}：先检查它，不再次读取和解码")
	deletedUnread = trace.Because("deleted-unread",
		"the bytes could not be read, as expected: there is no object to return",
		"字节无法解码，符合预期：没有对象可返回")
)

// Delete implements storage.Interface. It tries one state after another, as GuaranteedUpdate does. The state that was
// checked and removed is the answer.
func (s *store) Delete(ctx context.Context, key string, out runtime.Object, validateDeletion storage.ValidateObjectFunc,
	opts storage.DeleteOptions) (err error) {
	key, err = s.prepareKey(key, false)
	if err != nil {
		return err
	}
	ctx, step := trace.Start(ctx, steps.Etcd3Delete, key)
	defer step.End(&err)
	reader, err := s.newStateReader(key, out)
	if err != nil {
		return err
	}
	reader.expectCorrupt = opts.ExpectTransformOrDecodeError
	state := reader.adopt(opts.Suggestion)
	if state != nil {
		step.Why(suggestionRead, state.rev)
	} else if state, err = reader.first(ctx, opts.Suggestion); err != nil {
		return err
	}
	for {
		if checkErr := checkDeletion(ctx, key, state.obj, opts.Preconditions, validateDeletion); checkErr != nil {
			if state, err = reader.retry(ctx, state, checkErr); err != nil {
				return err
			}
			step.Why(suggestionRefused)
			continue
		}
		if state.obj != nil {
			step.Before(state.obj)
		}
		result, err := s.kv.commit(ctx, txn{
			operation: metrics.OperationDelete, key: key, revision: state.rev, delete: true, getOnFailure: true,
		})
		if err != nil {
			return err
		}
		if result.succeeded {
			step.Int("resourceVersion", result.revision)
			if reader.expectCorrupt {
				step.Why(deletedUnread)
				return nil
			}
			return s.removed(ctx, key, state, out, result.revision)
		}
		step.Why(writeConflict, state.rev)
		if state, err = reader.decode(ctx, result.kv); err != nil {
			return err
		}
	}
}

// removed fills out with the state that a deletion at a revision removed. It takes over the object that was checked.
func (s *store) removed(ctx context.Context, key string, state *objState, out runtime.Object, revision int64) error {
	from, to := reflect.ValueOf(state.obj), reflect.ValueOf(out)
	if from.Type() != to.Type() {
		return s.decode(ctx, key, state.data, out, revision)
	}
	to.Elem().Set(from.Elem())
	// An object without metadata has no place for its revision.
	_ = s.versioner.UpdateObject(out, uint64(revision))
	return nil
}

// checkDeletion says why obj must not be deleted, or nil. obj is nil if its bytes can't be read.
func checkDeletion(ctx context.Context, key string, obj runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc) error {
	if err := preconditions.Check(key, obj); err != nil {
		return err
	}
	return validate(ctx, obj)
}
