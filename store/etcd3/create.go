package etcd3

import (
	"context"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	storage "github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
)

// Create writes obj at key if nothing is there, and decodes the stored bytes into out unless out is nil.
func (s *store) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	_, err := s.create(ctx, key, obj, out, ttl)
	return err
}

// CreateEncoded writes obj at key if nothing is there.
func (s *store) CreateEncoded(ctx context.Context, key string, obj runtime.Object, ttl uint64) (*object.Encoded, error) {
	return s.create(ctx, key, obj, nil, ttl)
}

var (
	createWithRevision = trace.Because("create-with-revision",
		"an object that is to be created cannot have a resourceVersion",
		"要创建的对象不能带 resourceVersion")
	createOverExisting = trace.Because("create-over-existing",
		"something is stored at the key already",
		"该键已有存储内容")
	createAtFreeKey = trace.Because("create-at-free-key",
		"nothing was stored at the key",
		"该键原本没有存储内容")
)

func (s *store) create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) (_ *object.Encoded, err error) {
	key, err = s.prepareKey(key, false)
	if err != nil {
		return nil, err
	}
	ctx, step := trace.Start(ctx, steps.Etcd3Create, key)
	defer step.End(&err)
	if revision, err := s.versioner.ObjectResourceVersion(obj); err == nil && revision != 0 {
		step.Why(createWithRevision)
		return nil, storage.ErrResourceVersionSetOnCreate
	}
	if err := s.versioner.PrepareObjectForStorage(obj); err != nil {
		return nil, fmt.Errorf("PrepareObjectForStorage failed: %w", err)
	}
	data, err := s.encode(ctx, key, obj)
	if err != nil {
		return nil, err
	}
	lease, err := s.lease(ctx, key, ttl)
	if err != nil {
		return nil, err
	}
	value, err := s.transformToStorage(ctx, key, data)
	if err != nil {
		return nil, storage.NewInternalError(err)
	}
	result, err := s.commitNew(ctx, step, txn{operation: metrics.OperationCreate, key: key, value: value, lease: lease})
	if err != nil {
		return nil, err
	}
	if !result.succeeded {
		step.Why(createOverExisting)
		return nil, storage.NewKeyExistsError(key, 0)
	}
	step.Int("resourceVersion", result.revision)
	step.Why(createAtFreeKey)
	return s.wrote(ctx, key, data, obj, out, result.revision)
}

// maxRenewals limits how often a create looks again at the object of its condition. Each time someone else must have
// changed it between two requests to etcd that follow each other, so the limit is for conditions that never hold.
const maxRenewals = 32

// commitNew executes a transaction that writes a new object, under the condition of ctx. It tries again when the
// condition's object has changed and the condition can be renewed.
func (s *store) commitNew(ctx context.Context, step *trace.Step, t txn) (result txnResult, err error) {
	condition := storage.ConditionOf(ctx)
	if condition == nil || condition.Key == "" {
		return s.kv.commit(ctx, t)
	}
	t.other, t.otherRevision = s.pathPrefix+strings.TrimPrefix(condition.Key, "/"), condition.Revision
	renewals := int64(0)
	for ; renewals <= maxRenewals; renewals++ {
		if renewals > 0 {
			if t.otherRevision, err = condition.Renew(ctx); err != nil {
				return result, err
			}
		}
		result, err = s.kv.commit(ctx, t)
		if err != nil || !result.moved {
			break
		}
	}
	if renewals > 0 {
		step.Int("renewals", renewals)
	}
	if result.moved {
		err = apierrors.NewTooManyRequestsError(condition.Key + " changes too often to create anything: try again")
	}
	return result, err
}

// lease returns the lease of the object at key, that lives for ttl seconds; one that lives forever has none.
func (s *store) lease(ctx context.Context, key string, ttl uint64) (clientv3.LeaseID, error) {
	if ttl == 0 {
		return clientv3.NoLease, nil
	}
	return s.leases.GetLease(ctx, key, int64(ttl))
}
