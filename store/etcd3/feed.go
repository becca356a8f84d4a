package etcd3

import (
	"context"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// feed is etcd's watch behind a watchChan. etcd's client buffers without limit what nobody takes of its watch, and
// can't be told to wait. So the feed takes it even while the watcher is busy, and counts it. A watcher that falls too
// far behind loses the feed, with what it has not got: nothing is held for it but the revision that it has reached.
// When it reads on it gets another feed from there.
type feed struct {
	responses clientv3.WatchChan // nil: it has ended
	stop      context.CancelFunc
	// waiting are the responses behind the one at hand, and bytes is how much they hold.
	waiting []clientv3.WatchResponse
	bytes   int
	// rest are the events of the response at hand that are not sent.
	rest []*clientv3.Event
	// behind says that something was thrown away.
	behind bool
}

const (
	// maxWaiting is how many bytes of responses wait for a watcher that is busy.
	maxWaiting = 1 << 20
	// patience is how long a watcher may be busy with one event before it loses all that comes after.
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

// cut ends the feed behind a revision, of which several events may be at hand.
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
