package factory

import (
	"context"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/store/etcd3/metrics"
)

// statusTimeout bounds the wait for one member. etcd's client waits for an unreachable member until the context ends,
// and the members after it would not be measured.
const statusTimeout = 5 * time.Second

// sizeMonitor measures the size of an etcd's database at an interval.
type sizeMonitor struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// startSizeMonitor asks each of the endpoints, or the etcd in this process if there are none.
func startSizeMonitor(client *clientv3.Client, endpoints []string, interval time.Duration, gauges *metrics.Metrics) *sizeMonitor {
	if len(endpoints) == 0 {
		endpoints = []string{""}
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &sizeMonitor{cancel: cancel}
	m.done.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			for i, endpoint := range endpoints {
				// An unreachable member keeps its last size. The health check reports it.
				asking, answered := context.WithTimeout(ctx, statusTimeout)
				status, err := client.Status(asking, endpoint)
				answered()
				if err == nil {
					gauges.StorageSize(fmt.Sprintf("etcd-%d", i), status.DbSize)
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
	return m
}

func (m *sizeMonitor) stop() {
	m.cancel()
	m.done.Wait()
}
