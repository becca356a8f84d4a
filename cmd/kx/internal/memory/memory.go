package memory

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	every = 2 * time.Second

	// quiet is the most that is allocated between two looks at a server that does next to nothing: watch caches ask for
	// etcd's progress, controllers renew their leases.
	quiet = 4 << 20

	// least is what has to be allocated before there is something to give back, however small the heap.
	least = 32 << 20
)

// GiveBack gives memory back whenever the process has become quiet, until ctx is done.
func GiveBack(ctx context.Context) {
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

// keeper knows what was allocated when. Its zero value gives back what the start took at its first quiet look.
type keeper struct {
	seen uint64 // by the last look
	due  uint64 // nothing is given back before that much was allocated
}

// look gives memory back if it is time to, and says whether it did.
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

// sizes are what was allocated since the start, and what lived when it was collected last, in bytes.
func sizes() (allocated, live uint64) {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64()
}
