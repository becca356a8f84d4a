package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/peertest"
)

// ways are the ways in which requests are recorded, compared by the benchmarks below.
var ways = []struct {
	name         string
	off, objects bool
	tapped       bool
	recording    string // the filter of a recording
}{
	{name: "off", off: true},
	{name: "steps"},
	{name: "objects", objects: true},
	{name: "tapped", tapped: true},
	{name: "recorded", recording: "verb:*"},
	{name: "others-recorded", recording: "resource:pods"},
}

// turn is how many requests are sent one way before it is another's turn: what else the machine does befalls all alike.
const turn = 20

// BenchmarkTracedGet, BenchmarkTracedCachedGet and BenchmarkTracedCreate report the median of whole requests, for each way.
func BenchmarkTracedGet(b *testing.B) {
	compareWays(b, func(s *bench, objects bool, n int) {
		s.traced(b, objects, "GET", fmt.Sprint(configMaps, "/o-", n%100), nil, 200)
	})
}

// BenchmarkTracedCachedGet asks for what the watch cache has: etcd is asked nothing.
func BenchmarkTracedCachedGet(b *testing.B) {
	compareWays(b, func(s *bench, objects bool, n int) {
		s.traced(b, objects, "GET", fmt.Sprint(configMaps, "/o-", n%100, "?resourceVersion=0"), nil, 200)
	})
}

func BenchmarkTracedCreate(b *testing.B) {
	compareWays(b, func(s *bench, objects bool, n int) {
		s.traced(b, objects, "POST", configMaps, object(fmt.Sprint("c-", n)), 201)
	})
}

func compareWays(b *testing.B, send func(s *bench, objects bool, n int)) {
	s := newBench(b)
	s.fill(b, 100)
	took := make([][]time.Duration, len(ways))
	n := 0
	for first := 0; b.Loop(); first++ {
		for k := range ways {
			i := (first + k) % len(ways)
			way := ways[i]
			s.Journeys.SetOff(way.off)
			untap := func() {}
			if way.tapped {
				untap = tap(s.Journeys)
			}
			if way.recording != "" {
				untap = record(b, s.Journeys.Control(), way.recording)
			}
			for range turn {
				n++
				begin := time.Now()
				send(s, way.objects, n)
				took[i] = append(took[i], time.Since(begin))
			}
			untap()
		}
	}
	for i, way := range ways {
		b.ReportMetric(median(took[i])/1000, way.name+"-µs")
	}
	b.ReportMetric(0, "ns/op") // of all ways together: it says nothing
}

// record has the objects of requests recorded until stop is called.
func record(b *testing.B, control *trace.Control, text string) (stop func()) {
	f, err := filter.Parse(text, trace.Names)
	must(b, err)
	r := &trace.Rule{Name: "bench", Kind: trace.Recording, Filter: f, Probability: 1}
	must(b, control.Add(r))
	return func() { control.Remove(r) }
}

// BenchmarkExported reports the median of whole requests, to a server without --tracing-config-file, to one that samples nothing, and
// to one that exports all.
func BenchmarkExported(b *testing.B) {
	collector := peertest.NewCollector(b)
	servers := []struct {
		name string
		*bench
	}{
		{"without", newBench(b)}, {"none", newBench(b, exporting(b, collector, 0))}, {"all", newBench(b, exporting(b, collector, 1_000_000))},
	}
	for _, s := range servers {
		s.fill(b, 100)
	}
	n := 0
	for _, request := range []struct {
		name string
		send func(s *bench)
	}{
		{"get", func(s *bench) { s.traced(b, false, "GET", fmt.Sprint(configMaps, "/o-", n%100), nil, 200) }},
		{"cached-get", func(s *bench) {
			s.traced(b, false, "GET", fmt.Sprint(configMaps, "/o-", n%100, "?resourceVersion=0"), nil, 200)
		}},
		{"create", func(s *bench) { s.traced(b, false, "POST", configMaps, object(fmt.Sprint("c-", n)), 201) }},
	} {
		b.Run(request.name, func(b *testing.B) {
			took := make([][]time.Duration, len(servers))
			for first := 0; b.Loop(); first++ {
				for k := range servers {
					i := (first + k) % len(servers)
					for range turn {
						n++
						begin := time.Now()
						request.send(servers[i].bench)
						took[i] = append(took[i], time.Since(begin))
					}
				}
			}
			for i, s := range servers {
				b.ReportMetric(median(took[i])/1000, s.name+"-µs")
			}
			b.ReportMetric(0, "ns/op") // of all servers together: it says nothing
		})
	}
}

// median is in ns. What keeps a few requests from the processor does not touch it.
func median(took []time.Duration) float64 {
	slices.Sort(took)
	return float64(took[len(took)/2])
}

func (s *bench) traced(b *testing.B, objects bool, method, path string, body []byte, code int) {
	req, err := http.NewRequest(method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if objects {
		req.Header.Set("Kx-Trace", "objects")
	}
	res, err := s.http.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != code {
		b.Fatalf("%s %s: %d, %v", method, path, res.StatusCode, err)
	}
}

// tap follows the journeys, and looks at each that has ended, until it is undone.
func tap(r *trace.Recorder) (untap func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	_, seq := r.List()
	go func() {
		defer close(done)
		for r.Wait(ctx, seq) == nil {
			changes, _ := r.Since(seq)
			for _, c := range changes {
				seq = c.Seq
				if c.Type == trace.Ended {
					c.Journey.Record()
				}
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// BenchmarkRecording is the recording alone: the steps of a real request are taken again, in a recorder and in none.
func BenchmarkRecording(b *testing.B) {
	s := newBench(b)
	s.fill(b, 1)
	for _, request := range []struct {
		name, method, path string
		body               []byte
		code               int
	}{
		{"get", "GET", configMaps + "/o-0", nil, 200},
		{"cached-get", "GET", configMaps + "/o-0?resourceVersion=0", nil, 200},
		{"create", "POST", configMaps, object("created"), 201},
	} {
		s.traced(b, false, request.method, request.path, request.body, request.code)
		list, _ := s.Journeys.List()
		journey := list[len(list)-1].Journey
		journey.Wait(context.Background())
		steps := journey.Record().Steps
		children := map[int][]int{}
		for i, step := range steps {
			children[step.Parent] = append(children[step.Parent], i)
		}
		recorder := trace.NewRecorder("b", trace.DefaultLimits)
		for _, way := range ways[:2] {
			b.Run(request.name+"/"+way.name, func(b *testing.B) {
				recorder.SetOff(way.off)
				b.ReportAllocs()
				took := make([]time.Duration, 0, 1<<20)
				for b.Loop() {
					begin := time.Now()
					ctx, j := recorder.Begin(context.Background(), trace.Request{})
					again(ctx, steps, children, -1)
					if j != nil {
						j.Finish(trace.Response{})
					}
					if len(took) < cap(took) {
						took = append(took, time.Since(begin))
					}
				}
				b.ReportMetric(median(took), "median-ns")
				b.ReportMetric(float64(len(steps)), "steps")
			})
		}
	}
}

// again takes the steps below parent again.
func again(ctx context.Context, steps []trace.StepRecord, children map[int][]int, parent int) {
	for _, i := range children[parent] {
		s := &steps[i]
		ctx, step := trace.Start(ctx, s.ID, s.Subject)
		for _, a := range s.Attrs {
			if a.IsInt {
				step.Int(a.Name, a.Int)
			} else {
				step.Text(a.Name, a.Text)
			}
		}
		again(ctx, steps, children, i)
		why(step, s)
		step.End(nil)
	}
}

// why gives a step the reason that another gave.
func why(step *trace.Step, of *trace.StepRecord) {
	text := ""
	var numbers []int64
	for _, v := range of.Values {
		if v.IsInt {
			numbers = append(numbers, v.Int)
		} else {
			text = v.Text
		}
	}
	if !of.Reason.IsZero() {
		step.WhyText(of.Reason, text, numbers...)
	}
}
