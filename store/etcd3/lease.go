package etcd3

import (
	"context"
	"strconv"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/core/steps"
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
	// ReuseDurationSeconds is the time during which a lease takes new objects. They live up to that much longer than
	// their TTL.
	ReuseDurationSeconds int64
	// MaxObjectCount limits the objects of a lease; 0 is the default.
	MaxObjectCount int64
}

// NewDefaultLeaseManagerConfig returns the configuration of a server.
func NewDefaultLeaseManagerConfig() LeaseManagerConfig {
	return LeaseManagerConfig{
		ReuseDurationSeconds: defaultLeaseReuseDurationSeconds,
		MaxObjectCount:       defaultLeaseMaxObjectCount,
	}
}

// leaseManager hands out leases. A lease costs etcd far more than a key does, so objects that end at about the same
// time share one. It remembers the last one only: the objects of a resource have one TTL nearly always. mu guards
// lease, expires and objects.
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

var leaseShared = trace.Because("lease-shared",
	"shared: the lease of the last object ends at about the same time",
	"共用租约：上一个对象的租约到期时间相近")

// GetLease returns a lease that lasts for ttl seconds, and not much longer, for the object at key. etcd makes a lease
// last for a few of its ticks at least, so a very short ttl is exceeded.
//
// Requests that come at once while there is no lease to share each get one: no request waits for another's.
func (l *leaseManager) GetLease(ctx context.Context, key string, ttl int64) (lease clientv3.LeaseID, err error) {
	ctx, step := trace.Start(ctx, steps.Etcd3Lease, key)
	defer step.End(&err)
	now := time.Now()
	step.Int("ttl", ttl)
	lease, why, n := l.share(now, ttl)
	step.Why(why, n)
	if why != leaseShared {
		lasts := ttl + l.reuseFor(ttl)
		if lease, err = l.grant(ctx, key, lasts); err != nil {
			return clientv3.NoLease, err
		}
		l.remember(lease, now.Add(time.Duration(lasts)*time.Second))
	}
	if step.Recording() {
		step.Text("lease", strconv.FormatInt(int64(lease), 16))
	}
	return lease, nil
}

// reuseFor is for how many seconds a lease takes new objects.
func (l *leaseManager) reuseFor(ttl int64) int64 {
	return min(int64(leaseReusePart*float64(ttl)), l.config.ReuseDurationSeconds)
}

var (
	leaseFirst    = trace.Because("lease-first", "a new one: there has been none", "新租约：之前没有")
	leaseTooShort = trace.Because("lease-too-short",
		"a new one: the last one ends {seconds} s too early",
		"新租约：上一个提前 {seconds} 秒到期")
	leaseTooLong = trace.Because("lease-too-long",
		"a new one: the last one ends {seconds} s too late",
		"新租约：上一个晚 {seconds} 秒到期")
	leaseFull = trace.Because("lease-full",
		"a new one: the last one has {objects} objects, and takes no more",
		"新租约：上一个已有 {objects} 个对象，不再接收")
)

// share returns the last lease, if it suits an object with a ttl, and why, or why it does not, with the number of that
// reason.
func (l *leaseManager) share(now time.Time, ttl int64) (lease clientv3.LeaseID, why trace.Reason, n int64) {
	ends := now.Add(time.Duration(ttl) * time.Second)
	latest := ends.Add(time.Duration(l.reuseFor(ttl)) * time.Second)
	l.mu.Lock()
	defer l.mu.Unlock()
	// Objects whose write fails afterwards are counted too: the number need not be exact.
	l.objects++
	switch {
	case l.expires.IsZero():
		return 0, leaseFirst, 0
	case !ends.Before(l.expires):
		return 0, leaseTooShort, seconds(ends.Sub(l.expires))
	case !latest.After(l.expires):
		return 0, leaseTooLong, seconds(l.expires.Sub(latest))
	case l.objects > l.config.MaxObjectCount:
		return 0, leaseFull, l.objects - 1
	}
	return l.lease, leaseShared, 0
}

// seconds rounds up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// grant asks etcd for a lease that lasts for ttl seconds.
func (l *leaseManager) grant(ctx context.Context, key string, ttl int64) (_ clientv3.LeaseID, err error) {
	ctx, step := trace.Start(ctx, steps.EtcdLease, key)
	defer step.End(&err)
	step.Int("ttl", ttl)
	if err := step.Err(); err != nil {
		return clientv3.NoLease, err
	}
	granted, err := l.client.Grant(ctx, ttl)
	if err != nil {
		return clientv3.NoLease, interpretWriteError(err)
	}
	return granted.ID, nil
}

// remember makes a lease the last one.
func (l *leaseManager) remember(lease clientv3.LeaseID, expires time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.metrics.LeaseObjects(l.objects)
	l.lease, l.expires, l.objects = lease, expires, 1
}
