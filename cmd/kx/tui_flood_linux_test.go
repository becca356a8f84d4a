package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server"
)

const (
	// floodRate is how many journeys are recorded a second, and floodFor how many in all.
	floodRate = 10_000
	floodFor  = 50_000
	// floodSteps is how many steps each has: as many as a get.
	floodSteps = 23
)

// flood records journeys, as many a second as it is told to, and says what of the processors that took of this process.
func flood(t testing.TB, r *trace.Recorder) time.Duration {
	t.Helper()
	const burst = floodRate / 1000
	begin := ownCPU(t)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	start := time.Now()
	for n := 0; n < floodFor; {
		<-tick.C
		due := min(int(time.Since(start).Seconds()*floodRate)+burst, floodFor)
		for ; n < due; n++ {
			recordOne(r, n)
		}
	}
	return ownCPU(t) - begin
}

func recordOne(r *trace.Recorder, n int) {
	ctx, j := r.Begin(context.Background(), trace.Request{
		Method: "GET", URI: "/api/v1/namespaces/default/configmaps/demo", Verb: "get", Version: "v1", Resource: "configmaps",
		Namespace: "default", Name: fmt.Sprint("demo-", n), User: "kx-admin", UserAgent: "flood",
	})
	for range floodSteps {
		_, step := trace.Start(ctx, steps.StoreGet, "/configmaps/default/demo")
		step.End(nil)
	}
	j.Finish(trace.Response{Code: 200, Bytes: 300})
}

// ownCPU is what this process has taken of the processors.
func ownCPU(t testing.TB) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(unix.TimevalToNsec(u.Utime) + unix.TimevalToNsec(u.Stime))
}

// resident is the memory of a process, in MiB.
func resident(t testing.TB, pid int) float64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return float64(pages*os.Getpagesize()) / (1 << 20)
}

// idleFor is how long the screen is watched while nothing happens.
const idleFor = 10 * time.Second

// floodFilters are what the screen asks for: everything, some, and what takes the server a look at each step. All but the second
// select every journey.
var floodFilters = []struct{ name, filter string }{
	{"all", ""},
	{"name", "name:demo-*00"},
	{"step", "step(store.get key:demo) steps>9"},
	{"order", "store.get -> store.get"},
	{"count", "steps(store.get)>9"},
	{"object", "!touched:spec.replicas"},
}

// BenchmarkTUIFlood has a server in this process, and its screen in another, and records far more journeys than the screen
// can show. It reports what that takes of both, without the screen and with it; how often the screen is drawn; how long a
// key takes meanwhile; and what the screen takes once nothing happens any more.
func BenchmarkTUIFlood(b *testing.B) {
	s := startServer(b, filepath.Join(b.TempDir(), "kx"))
	flood(b, s.Journeys) // what is made once is made
	alone := flood(b, s.Journeys)
	for _, f := range floodFilters {
		b.Run(f.name, func(b *testing.B) {
			b.ReportMetric(float64(alone.Nanoseconds())/floodFor/1000, "server-µs/journey-alone")
			followFlood(b, s, f.filter)
		})
	}
}

// followFlood has the screen follow what matches a filter.
func followFlood(b *testing.B, s *server.Server, filter string) {
	screen := sit(b, "--kubeconfig", s.Kubeconfig, "--theme", "dark")
	screen.see(b, "live")
	if filter != "" {
		screen.press(b, "/")
		screen.see(b, "fields:")
		screen.press(b, filter+"\r")
		screen.see(b, "matching")
	}
	begun, before, frames := time.Now(), cpu(b, screen.cmd.Process.Pid), screen.counts()
	keys := make(chan []time.Duration)
	go func() { keys <- screen.pressing(b, 40) }()
	followed := flood(b, s.Journeys)
	took := <-keys
	lasted := time.Since(begun)
	slices.Sort(took)
	metric := func(value float64, unit string) { b.ReportMetric(value, unit) }
	metric(float64(followed.Nanoseconds())/floodFor/1000, "server-µs/journey-followed")
	metric(float64(screen.counts()-frames)/lasted.Seconds(), "frames/s")
	metric(100*float64(cpu(b, screen.cmd.Process.Pid)-before)/float64(lasted), "screen-%-of-a-core")
	metric(float64(took[len(took)*99/100].Microseconds())/1000, "key-ms-p99")
	metric(resident(b, screen.cmd.Process.Pid), "screen-MiB")
	metric(0, "ns/op")
	screen.press(b, "/") // the line that is typed is the last that changes
	screen.see(b, "fields:")
	screen.press(b, "\x1b")
	before = cpu(b, screen.cmd.Process.Pid)
	time.Sleep(idleFor)
	metric(100*float64(cpu(b, screen.cmd.Process.Pid)-before)/float64(idleFor), "screen-%-of-a-core-idle")
	screen.press(b, "q")
	if err := screen.cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	for _, fact := range []string{`REC \d+`, `matching \d+`, `dropped \d+`, `left out \d+`} {
		if all := regexp.MustCompile(fact).FindAllString(screen.text.String(), -1); len(all) > 0 {
			b.Log(all[len(all)-1])
		}
	}
}

// counts is how often the number of requests was drawn: nearly every frame of a flood has another.
func (s *seat) counts() int { return s.times("REC") + s.times("matching") }

// pressing opens help and closes it again, n times, and says how long each time it took to be seen.
func (s *seat) pressing(t testing.TB, n int) []time.Duration {
	var took []time.Duration
	for range n {
		shown := s.times("Keys in")
		begin := time.Now()
		s.press(t, "?")
		s.seeTimes(t, "Keys in", shown+1)
		took = append(took, time.Since(begin))
		s.press(t, "\x1b")
		time.Sleep(50 * time.Millisecond) // esc is a key of its own only if nothing follows it
	}
	return took
}
