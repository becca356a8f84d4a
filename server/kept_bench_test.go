package server_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/kx-apiserver/kx/core/trace"
)

// BenchmarkKept reports what a recorder takes in memory for each journey that it keeps, once it has been full for a
// while. What is in memory besides is in both of the figures that are subtracted: the requests' journeys are pushed out
// by empty ones, and what empty ones take is measured in a recorder of their own.
func BenchmarkKept(b *testing.B) {
	limits := trace.DefaultLimits
	// A journey makes three changes at most, and those that followers may still ask for know it.
	enough := limits.Journeys + limits.Changes/2
	s := newBench(b)
	s.fill(b, 1)
	n := 0
	for _, request := range []struct {
		name string
		send func()
	}{
		{"get", func() { s.traced(b, false, "GET", configMaps+"/o-0", nil, 200) }},
		{"cached-get", func() { s.traced(b, false, "GET", configMaps+"/o-0?resourceVersion=0", nil, 200) }},
		{"create", func() { n++; s.traced(b, false, "POST", configMaps, object(fmt.Sprint("kept-", n)), 201) }},
	} {
		b.Run(request.name, func(b *testing.B) {
			kept, rounds := 0, 0
			for b.Loop() {
				rounds++
				for range enough {
					request.send()
				}
				full := liveHeap()
				travelNowhere(s.Journeys, enough)
				kept += full - liveHeap()
			}
			before := liveHeap()
			empty := trace.NewRecorder("empty", limits)
			travelNowhere(empty, enough)
			kept = kept/rounds + liveHeap() - before
			runtime.KeepAlive(empty)
			b.ReportMetric(float64(kept)/float64(limits.Journeys), "B/journey")
			b.ReportMetric(0, "ns/op") // of all that is done to find out: it says nothing
		})
	}
}

// travelNowhere records n journeys of requests that do nothing.
func travelNowhere(r *trace.Recorder, n int) {
	for range n {
		_, j := r.Begin(context.Background(), trace.Request{})
		j.Finish(trace.Response{})
	}
}

// liveHeap is how many bytes are in use after all garbage has gone, that of pools too.
func liveHeap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
