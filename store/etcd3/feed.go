package etcd3

import (
	"context"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// feed is etcd's watch behind a watchChan. etcd's client buffers without limit, and can't be told to wait. So the
// feed takes responses even while the watcher is busy, and counts their bytes. A watcher that falls too far behind
// loses the feed with all that it holds: only the revision that it has reached is kept. When the watcher reads on, it
// gets another feed from there.
type feed struct {
	responses clientv3.WatchChan // nil: it has ended
	stop      context.CancelFunc
	// waiting holds the responses after the present one, and bytes their size.
	waiting []clientv3.WatchResponse
	bytes   int
	// rest are the events of the response at hand that are not sent.
	rest []*clientv3.Event
	// behind says that something was thrown away.
	behind bool
}

const (
	// maxWaiting limits the bytes of the responses that wait for a busy watcher.
	maxWaiting = 1 << 20
	// patience limits the time for one event: a watcher that is busy for longer loses its feed.
	patience = time.Second
)

// next waits for a response; not ok is the end of the feed.
func (f *feed) next() (resp clientv3.WatchResponse, ok bool) {
	if len(f.waiting) == 0 {
		if f.responses == nil {
			return resp, false
		}
		resp, ok = <-f.responses
		return resp, ok
	}
	resp = f.waiting[0]
	f.waiting[0] = clientv3.WatchResponse{}
	f.waiting = f.waiting[1:]
	f.bytes -= size(&resp)
	return resp, true
}

// nextEvent takes an event out of the response at hand.
func (f *feed) nextEvent() *clientv3.Event {
	e := f.rest[0]
	f.rest[0] = nil
	f.rest = f.rest[1:]
	return e
}

// add takes a response while the watcher is busy.
func (f *feed) add(resp clientv3.WatchResponse, ok bool) {
	if !ok {
		f.responses = nil
		return
	}
	f.waiting = append(f.waiting, resp)
	if f.bytes += size(&resp); f.bytes > maxWaiting {
		f.throwAway()
	}
}

// throwAway ends the feed behind the response at hand.
func (f *feed) throwAway() {
	f.stop()
	f.responses, f.waiting, f.behind = nil, nil, true
}

// cut ends the feed after a revision. Several events of that revision may be in rest.
func (f *feed) cut(revision int64) {
	after := slices.IndexFunc(f.rest, func(e *clientv3.Event) bool { return e.Kv.ModRevision > revision })
	if after >= 0 {
		f.rest = slices.Clone(f.rest[:after])
	}
	f.throwAway()
}

func size(resp *clientv3.WatchResponse) (bytes int) {
	const around = 256 // what an event takes beside its values
	for _, e := range resp.Events {
		bytes += around + len(e.Kv.Value)
		if e.PrevKv != nil {
			bytes += len(e.PrevKv.Value)
		}
	}
	return bytes
}
