package factory

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/store/etcd3/metrics"
)

// sizeMonitor measures the size of an etcd's database from time to time, and tells of its alarms.
type sizeMonitor struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// startSizeMonitor asks each of the endpoints.
func startSizeMonitor(client *clientv3.Client, endpoints []string, interval time.Duration) *sizeMonitor {
	ctx, cancel := context.WithCancel(context.Background())
	m := &sizeMonitor{cancel: cancel}
	alarms := &alarmLog{log: slog.Default(), told: map[string]bool{}}
	m.done.Go(func() {
		// An etcd that has just begun can't tell its status: it does not know itself yet. What it reads, it knows.
		_, _ = client.Get(ctx, "health", clientv3.WithCountOnly())
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			noted := false
			for i, endpoint := range endpoints {
				// A member that is away keeps its last size: the health check tells of it.
				if status, err := client.Status(ctx, endpoint); err == nil {
					metrics.UpdateStorageSize(fmt.Sprintf("etcd-%d", i), status.DbSize)
					if !noted {
						alarms.note(status)
						noted = true
					}
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
