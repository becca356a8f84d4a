package etcd3

import (
	"errors"
	"math/bits"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

const (
	// pageBytes is about how much one page is meant to hold. etcd counts keys, not bytes.
	pageBytes = 2 << 20
	// firstLimit limits the keys in a request's first page, since the size of its objects is unknown.
	firstLimit = 64
	// minLimit and maxLimit bound the keys of every page. Objects that suddenly are large make a page of maxLimit of
	// them.
	minLimit, maxLimit = 8, 1024
	// fillLimit limits the keys in a page that a cache keeps as a whole.
	fillLimit = 10000
)

var errNothingFound = errors.New("no results were found, but etcd indicated there were more values remaining")

// pages remembers how large the objects of a resource were lately. Requests begin with that.
type pages struct{ meanBytes atomic.Int64 }

// pager decides how many keys each page of one request has. A page has at most twice as many as the one before, and no
// more than fit if its objects are as large as those of the one before, or as the last few of them.
type pager struct {
	resource *pages
	limit    int64
}

func (p *pages) pager() *pager {
	limit := int64(firstLimit)
	if mean := p.meanBytes.Load(); mean > 0 {
		limit = min(limit, objectsPerPage(mean))
	}
	return &pager{resource: p, limit: limit}
}

// objectsPerPage returns how many objects of a size fit into a page.
func objectsPerPage(size int64) int64 {
	// A power of two: it does not change with each object.
	fit := uint64(pageBytes / size)
	return min(max(int64(1)<<bits.Len64(fit)>>1, minLimit), maxLimit)
}

// lastFew objects of a page tell best how large the next ones are.
const lastFew = 16

// meanSize returns the mean size of objects. kvs must not be empty.
func meanSize(kvs []*mvccpb.KeyValue) int64 {
	bytes := 0
	for _, kv := range kvs {
		bytes += len(kv.Key) + len(kv.Value)
	}
	return int64(bytes / len(kvs))
}

// observe learns from a page.
func (p *pager) observe(kvs []*mvccpb.KeyValue) {
	if len(kvs) == 0 {
		return
	}
	mean := meanSize(kvs)
	p.limit = min(2*p.limit, objectsPerPage(max(mean, meanSize(kvs[max(len(kvs)-lastFew, 0):]))))
	if known := p.resource.meanBytes.Load(); mean < known {
		mean = (known + mean) / 2 // pages shrink at once, and grow slowly
	}
	p.resource.meanBytes.Store(mean)
}
