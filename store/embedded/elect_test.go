package embedded

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// An etcd that leads when its clock has ticked five times, which takes fifty seconds, leads before the first: on a new
// directory, and on one in which it has led.
func TestLeadsWithoutWaiting(t *testing.T) {
	const tick = 10 * time.Second
	config := Config{Dir: t.TempDir()}
	for _, of := range []string{"a new directory", "its own"} {
		faults := newFaults()
		slow, err := config.etcdConfig(faults, &atomic.Bool{})
		if err != nil {
			t.Fatal(err)
		}
		slow.TickMs, slow.ElectionMs = uint(tick.Milliseconds()), uint(5*tick.Milliseconds())
		ctx, cancel := context.WithTimeout(t.Context(), tick-time.Second)
		etcd, err := startEtcd(ctx, slow, faults)
		cancel()
		if err != nil {
			t.Fatalf("%s: %v", of, err)
		}
		etcd.Close()
	}
}
