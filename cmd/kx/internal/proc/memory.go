package proc

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	every = 2 * time.Second

	// quiet is the highest allocation between two looks at which a server counts as quiet. Even then watch caches ask
	// for etcd's progress, and controllers renew their leases.
	quiet = 4 << 20

	// least is the minimum allocation between two collections, however small the heap.
	least = 32 << 20
)

// GiveBackMemory returns memory to the system whenever the process has become quiet, until ctx is done.
//
// Go's collector lets a heap double before it collects, and keeps the collected memory for later allocations. That
// suits a busy server. A server that waits, as most do most of the time, would hold this memory for as long as it
// waits. It would also hold the pages of the binary that were read only at the start, to initialise all packages: two
// thirds of the pages that were read.
//
// It reads the runtime's counters every two seconds. No code on the path of a request calls it. It does nothing while a
// server is busy. It never collects more often than the collector would with GOGC=100 and a heap of the same size, so
// each collection was due anyway.
func GiveBackMemory(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var k keeper
	k.seen, _ = sizes()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			k.look()
		}
	}
}

// keeper tracks allocations. Its zero value gives back the memory of the start at its first quiet look.
type keeper struct {
	seen uint64 // allocated at the last look
	due  uint64 // no memory is given back until this much was allocated
}

// look gives memory back if that is due. It returns whether it did.
func (k *keeper) look() bool {
	allocated, _ := sizes()
	lately := allocated - k.seen
	k.seen = allocated
	if lately > quiet || allocated < k.due {
		return false
	}
	debug.FreeOSMemory()
	unmapBinary()
	allocated, live := sizes()
	k.seen = allocated
	k.due = allocated + max(least, live)
	return true
}

// sizes returns the bytes allocated since the start, and the bytes that survived the last collection.
func sizes() (allocated, live uint64) {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64()
}
