package etcd3

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/trace"
	storage "github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
)

// Delete implements storage.Interface. It tries one state after another, as GuaranteedUpdate does.
func (s *store) Delete(
	ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validateDeletion storage.ValidateObjectFunc, cachedExistingObject runtime.Object, opts storage.DeleteOptions) (err error) {
	key, err = s.prepareKey(key, false)
	if err != nil {
		return err
	}
	ctx, step := trace.Start(ctx, trace.Etcd3Delete, key)
	defer step.End(&err)
	reader, err := s.newStateReader(key, out)
	if err != nil {
		return err
	}
	reader.expectCorrupt = opts.ExpectTransformOrDecodeError
	state, err := reader.first(ctx, cachedExistingObject)
	if err != nil {
		return err
	}
	for {
		if checkErr := checkDeletion(ctx, key, state.obj, preconditions, validateDeletion); checkErr != nil {
			if state, err = reader.retry(ctx, state, checkErr); err != nil {
				return err
			}
			step.Why(trace.SuggestionRefused)
			continue
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
				step.Why(trace.DeletedUnread)
				return nil
			}
			return s.decode(ctx, key, state.data, out, result.revision)
		}
		step.Why(trace.WriteConflict, state.rev)
		if state, err = reader.decode(ctx, result.kv); err != nil {
			return err
		}
	}
}

// checkDeletion says why obj must not be deleted, or nil. obj is nil if its bytes can't be read.
func checkDeletion(ctx context.Context, key string, obj runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc) error {
	if err := preconditions.Check(key, obj); err != nil {
		return err
	}
	return validate(ctx, obj)
}
