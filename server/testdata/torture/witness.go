//go:build linux

package torture

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/server/testdata/torture/history"
)

// witness follows etcd itself, past every kx and every proxy.
type witness struct {
	client     *clientv3.Client
	encryption *encryption
	// begin is the revision from which on it knows all.
	begin int64
	at    atomic.Int64

	mu     sync.Mutex
	log    history.Log
	err    error
	cancel context.CancelFunc
	done   chan struct{}
}

// newWitness begins with what is there.
func newWitness(ctx context.Context, client *clientv3.Client, encryption *encryption) (*witness, error) {
	w := &witness{client: client, encryption: encryption, done: make(chan struct{})}
	now, revision, err := w.read(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range now {
		w.log = append(w.log, history.Change{Object: o})
	}
	slices.SortFunc(w.log, func(a, b history.Change) int { return int(a.Revision - b.Revision) })
	w.begin = revision
	w.at.Store(revision)
	ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go w.follow(ctx)
	return w, nil
}

// read is what etcd has of the kinds, by key.
func (w *witness) read(ctx context.Context) (objects map[string]history.Object, revision int64, err error) {
	objects = map[string]history.Object{}
	res, err := w.client.Get(ctx, registry, clientv3.WithPrefix())
	if err != nil {
		return nil, 0, fmt.Errorf("read etcd: %w", err)
	}
	for _, kv := range res.Kvs {
		o, ok, err := stored(string(kv.Key), kv.Value, w.encryption)
		if err != nil {
			return nil, 0, err
		}
		if ok {
			o.Key, o.Revision = strings.TrimPrefix(string(kv.Key), registry), kv.ModRevision
			objects[o.Key] = o
		}
	}
	return objects, res.Header.Revision, nil
}

// follow goes on after each end of a watch until it is told to stop, or etcd no longer has what comes next.
func (w *witness) follow(ctx context.Context) {
	defer close(w.done)
	for ctx.Err() == nil {
		watching, stop := context.WithCancel(clientv3.WithRequireLeader(ctx))
		changes := w.client.Watch(watching, registry, clientv3.WithPrefix(), clientv3.WithRev(w.at.Load()+1), clientv3.WithProgressNotify())
		for res := range changes {
			if err := w.take(res); err != nil {
				w.mu.Lock()
				w.err = err
				w.mu.Unlock()
				stop()
				return
			}
		}
		stop()
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (w *witness) take(res clientv3.WatchResponse) error {
	if res.CompactRevision != 0 {
		return fmt.Errorf("etcd was compacted at %d, the witness has seen %d", res.CompactRevision, w.at.Load())
	}
	if res.Err() != nil {
		return nil // it is asked again
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range res.Events {
		o, ok, err := stored(string(e.Kv.Key), e.Kv.Value, w.encryption)
		if err != nil {
			return err
		}
		if ok {
			o.Key, o.Revision = strings.TrimPrefix(string(e.Kv.Key), registry), e.Kv.ModRevision
			w.log = append(w.log, history.Change{Object: o, Deleted: e.Type == mvccpb.Event_DELETE})
		}
	}
	// Beside events the header may be ahead of them.
	at := res.Header.Revision
	if n := len(res.Events); n > 0 {
		at = res.Events[n-1].Kv.ModRevision
	} else if !res.IsProgressNotify() {
		return nil
	}
	w.at.Store(max(w.at.Load(), at))
	return nil
}

// reach waits until it has seen a revision.
func (w *witness) reach(ctx context.Context, revision int64) error {
	for w.at.Load() < revision {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the witness is at %d, not at %d: %w", w.at.Load(), revision, ctx.Err())
		case <-w.done:
			return w.stop()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// stop ends it; an error is why it does not know all.
func (w *witness) stop() error {
	w.cancel()
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
