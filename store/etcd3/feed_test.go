package etcd3_test

import (
	"flag"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
)

// measureMemory has tests say how much memory this process takes.
var measureMemory = flag.Bool("memory", false, "also assert how much memory is held: without the race detector, with -parallel 1")

// inUse is how much memory lives, as soon as that is less than most, and at the latest after three minutes.
func inUse(t *testing.T, most int64) int64 {
	t.Helper()
	var stats runtime.MemStats
	for end := time.Now().Add(3 * time.Minute); ; {
		runtime.GC()
		runtime.ReadMemStats(&stats)
		if int64(stats.HeapAlloc) < most || time.Now().After(end) {
			return int64(stats.HeapAlloc)
		}
		runtime.Gosched()
	}
}

// TestDeafWatchersHoldLittle has watchers that read nothing of what is written, and read all of it later.
func TestDeafWatchersHoldLittle(t *testing.T) {
	const watchers, writes, size = 8, 64, 256 << 10
	const most = watchers * 2 << 20
	s, _, _ := shared(t, nil)
	first := create(t, s, "z", "x")
	write := func(prefix string) {
		for i := range writes {
			create(t, s, fmt.Sprintf("%s%03d", prefix, i), strings.Repeat("x", size))
		}
	}
	begin := func(revision string) (deaf []watch.Interface) {
		options := everything
		options.ResourceVersion = revision
		for range watchers {
			w, err := s.Watch(t.Context(), "/configmaps/", options)
			if err != nil {
				t.Fatal(err)
			}
			deaf = append(deaf, w)
		}
		return deaf
	}
	check := func(t *testing.T, deaf []watch.Interface, before, most int64, prefix string) {
		for _, w := range deaf {
			next(t, w) // now it has come as far as to this one
		}
		if *measureMemory {
			if used := inUse(t, before+most) - before; used > most {
				t.Errorf("%d deaf watchers hold %d KiB, most is %d", watchers, used>>10, most>>10)
			}
		}
		for _, w := range deaf {
			for i := 1; i < writes; i++ {
				m, err := meta.Accessor(next(t, w).Object)
				if want := fmt.Sprintf("%s%03d", prefix, i); err != nil || m.GetName() != want {
					t.Fatalf("%v, want %s, %v", m, want, err)
				}
			}
			w.Stop()
		}
	}
	write("a")
	before := inUse(t, math.MaxInt64)
	t.Run("of what was written", func(t *testing.T) { check(t, begin(first.ResourceVersion), before, most, "a") })
	t.Run("of what is there", func(t *testing.T) { check(t, begin(""), before, most, "a") })
	t.Run("of what is written", func(t *testing.T) {
		deaf := begin(create(t, s, "last", "x").ResourceVersion)
		write("b")
		check(t, deaf, before, most+writes*size, "b") // etcd's log holds the writes too
	})
}
