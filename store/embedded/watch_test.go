package embedded_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

// TestWatchesEndWhileOthersGoOn ends watches while there are many events: client and server must not wait for each other.
func TestWatchesEndWhileOthersGoOn(t *testing.T) {
	server := embedtest.Shared(t)
	c, writer := client(t, server), client(t, server)
	prefix := embedtest.Prefix() + "/"
	const watches, events = 200, 30
	var ready, done sync.WaitGroup
	ready.Add(watches)
	for i := range watches {
		ctx, end := context.WithCancel(t.Context())
		w := c.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCreatedNotify())
		done.Go(func() {
			defer end()
			<-w
			ready.Done()
			// Each ends after another number of events.
			for n := 0; n < 1+i%events; {
				n += len((<-w).Events)
			}
		})
	}
	ready.Wait()
	for n := range events {
		if _, err := writer.Put(t.Context(), fmt.Sprint(prefix, n), "x"); err != nil {
			t.Fatal(err)
		}
	}
	done.Wait()
}
