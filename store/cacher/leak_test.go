package cacher_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

// measureMemory has tests say how much memory this process takes.
var measureMemory = flag.Bool("memory", false, "also assert how much memory is left behind: without the race detector, with -parallel 1")

// TestNothingLeaks opens and drops ten thousand watches: by Stop and by their context, read and unread, live and behind.
func TestNothingLeaks(t *testing.T) {
	const watches = 10_000
	r := newRig(t, embedtest.New(t).Client(), nil)
	start := r.create(t, "ns", "a", "red").GetResourceVersion()
	for range 50 {
		r.update(t, "ns", "a", "red")
	}
	list(t, r.cached, everything)
	open := func(n int) {
		for i := range n {
			ctx, cancel := context.WithCancel(t.Context())
			opts := everything
			opts.Predicate.AllowWatchBookmarks = i%2 == 0
			if i%3 > 0 {
				opts.ResourceVersion = start
			}
			if i%5 == 0 {
				opts.ResourceVersion = "0"
			}
			w, err := r.cached.Watch(ctx, "/pandas/", opts)
			if err != nil {
				t.Fatal(err)
			}
			if i%4 == 0 {
				<-w.ResultChan()
			}
			if i%2 == 0 {
				cancel()
				for range w.ResultChan() {
				}
			}
			w.Stop()
			cancel()
		}
		until(t, "all watches are forgotten", func() bool { return len(r.cacher.Inspect().Watchers) == 0 })
	}
	open(100)
	before := goleak.IgnoreCurrent()
	heapBefore := heap()
	open(watches)
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	if !*measureMemory {
		return
	}
	const slack = 4 << 20 // what metrics and pools take
	until(t, fmt.Sprintf("%d watches leave less than %d bytes", watches, slack), func() bool { return heap() < heapBefore+slack })
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// TestStopEndsEverything stops a cacher with watches and a read under way.
func TestStopEndsEverything(t *testing.T) {
	r := shared(t, nil)
	r.create(t, "ns", "a", "red")
	opts := everything
	w, err := r.cached.WatchEncoded(t.Context(), "/pandas/", opts)
	if err != nil {
		t.Fatal(err)
	}
	reading := make(chan error)
	go func() {
		_, err := r.cached.GetEncoded(t.Context(), key("ns", "a"), store.GetOptions{ResourceVersion: "999999999"})
		reading <- err
	}()
	r.cacher.Stop()
	for range w.ResultChan() {
	}
	if err := <-reading; err == nil {
		t.Error("a revision that does not exist was read")
	}
	if late, err := r.cached.WatchEncoded(t.Context(), "/pandas/", opts); err != nil {
		t.Error(err)
	} else if e := next(t, late); e.Type != "ERROR" {
		t.Errorf("a watch of a stopped cacher got %s", e.Type)
	}
}
