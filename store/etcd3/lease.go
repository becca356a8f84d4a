package etcd3

import (
	"context"
	"strconv"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
)

const (
	defaultLeaseReuseDurationSeconds = 60
	defaultLeaseMaxObjectCount       = 1000

	// leaseReusePart is the part of a TTL for which its lease is reused, if that is less than the configured time.
	leaseReusePart = 0.05
)

// LeaseManagerConfig says how objects with a TTL share leases.
type LeaseManagerConfig struct {
	// ReuseDurationSeconds is how long a lease takes new objects. They live up to that much longer than they asked.
	ReuseDurationSeconds int64
	// MaxObjectCount is how many objects a lease takes; 0 is the default.
	MaxObjectCount int64
}

// NewDefaultLeaseManagerConfig is what a server uses.
func NewDefaultLeaseManagerConfig() LeaseManagerConfig {
	return LeaseManagerConfig{
		ReuseDurationSeconds: defaultLeaseReuseDurationSeconds,
		MaxObjectCount:       defaultLeaseMaxObjectCount,
	}
}

// leaseManager hands out leases. A lease costs etcd far more than a key does, so objects that end at about the same time
// share one. It remembers the last one only: the objects of a resource have one TTL nearly always.
type leaseManager struct {
	client  *clientv3.Client
	config  LeaseManagerConfig
	metrics *metrics.Resource

	mu      sync.Mutex
	lease   clientv3.LeaseID
	expires time.Time
	objects int64
}

func newLeaseManager(client *clientv3.Client, config LeaseManagerConfig, metrics *metrics.Resource) *leaseManager {
	if config.MaxObjectCount <= 0 {
		config.MaxObjectCount = defaultLeaseMaxObjectCount
	}
	return &leaseManager{client: client, config: config, metrics: metrics}
}

// GetLease returns a lease that lasts for ttl seconds, and not much longer, for the object at key. etcd makes a lease last
// for a few of its ticks at least, so a very short ttl is exceeded.
func (l *leaseManager) GetLease(ctx context.Context, key string, ttl int64) (lease clientv3.LeaseID, err error) {
	// The step holds no lock while it is held itself: it begins before and ends after.
	ctx, step := trace.Start(ctx, trace.EtcdLease, key)
	defer step.End(&err)
	step.Int("ttl", ttl)
	if err := step.Err(); err != nil {
		return clientv3.NoLease, err
	}
	lease, reused, err := l.get(ctx, ttl)
	if step.Recording() {
		step.Text("lease", strconv.FormatInt(int64(lease), 16))
	}
	if reused {
		step.Why(trace.LeaseShared)
	}
	return lease, err
}

func (l *leaseManager) get(ctx context.Context, ttl int64) (_ clientv3.LeaseID, reused bool, err error) {
	now := time.Now()
	reuse := min(int64(leaseReusePart*float64(ttl)), l.config.ReuseDurationSeconds)
	l.mu.Lock()
	defer l.mu.Unlock()
	longEnough := now.Add(time.Duration(ttl) * time.Second).Before(l.expires)
	notTooLong := now.Add(time.Duration(ttl+reuse) * time.Second).After(l.expires)
	// Objects whose write fails afterwards are counted too: it need not be exact.
	l.objects++
	if longEnough && notTooLong && l.objects <= l.config.MaxObjectCount {
		return l.lease, true, nil
	}
	granted, err := l.client.Grant(ctx, ttl+reuse)
	if err != nil {
		return clientv3.NoLease, false, err
	}
	l.metrics.LeaseObjects(l.objects)
	l.lease, l.expires, l.objects = granted.ID, now.Add(time.Duration(ttl+reuse)*time.Second), 1
	return l.lease, false, nil
}
