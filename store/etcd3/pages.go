package etcd3

import (
	"errors"
	"math/bits"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

const (
	// pageBytes is how much etcd is asked for at once, about: it counts keys, not bytes.
	pageBytes = 2 << 20
	// firstLimit is how many keys it is asked for as long as nobody knows how large they are.
	firstLimit = 64
	// minLimit and maxLimit are how many it is asked for at least, and at most.
	minLimit, maxLimit = 8, 10000
)

var errNothingFound = errors.New("no results were found, but etcd indicated there were more values remaining")

// pages are how large a resource's objects were lately: by that is decided how many of them make a page.
type pages struct{ meanBytes atomic.Int64 }

// limit is how many keys the next page is to have.
func (p *pages) limit() int64 {
	mean := p.meanBytes.Load()
	if mean == 0 {
		return firstLimit
	}
	// A power of two: it does not change with each object.
	fit := uint64(pageBytes / mean)
	return min(max(int64(1)<<bits.Len64(fit)>>1, minLimit), maxLimit)
}

// observe learns from a page.
func (p *pages) observe(kvs []*mvccpb.KeyValue) {
	if len(kvs) == 0 {
		return
	}
	bytes := int64(0)
	for _, kv := range kvs {
		bytes += int64(len(kv.Key) + len(kv.Value))
	}
	mean := bytes / int64(len(kvs))
	if known := p.meanBytes.Load(); mean < known {
		mean = (known + mean) / 2 // pages shrink at once, and grow slowly
	}
	p.meanBytes.Store(mean)
}
