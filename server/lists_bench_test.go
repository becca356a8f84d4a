package server_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/server/options"
)

// BenchmarkLongLists lists many objects of 10 KB in every form, and says how long each answer was and what it took of processor
// time and memory. MiB-held is how much more lived while the reader paused: it is what the list holds, and what is kept of it
// for others, which is MiB-kept. MiB-live is how much more lived at collections of any moment, which count as living what is
// allocated while they run. MiB-more is by how much the process's own memory grew, with what is not collected yet.
// KX_LIST_OBJECTS is how many objects there are, and
// KX_LIST_CACHE=false lists them from etcd:
//
//	KX_LIST_OBJECTS=100000 go test ./server -run NONE -bench LongLists -benchtime 1x -timeout 2h
func BenchmarkLongLists(b *testing.B) {
	objects := 1000
	if text := os.Getenv("KX_LIST_OBJECTS"); text != "" {
		var err error
		objects, err = strconv.Atoi(text)
		must(b, err)
	}
	r := start(b, func(o *options.Options) {
		o.Limits.RequestTimeout = time.Hour
		o.WatchCache.Enabled = os.Getenv("KX_LIST_CACHE") != "false"
	})
	r.fillLongLists(b, objects)
	client := r.http1(b)
	for _, form := range listForms {
		b.Run(strings.ReplaceAll(form.what, " ", "-"), func(b *testing.B) {
			for b.Loop() {
				r.longList(b, client, form.path, form.accept)
			}
		})
	}
}

func (r *running) longList(b *testing.B, client *http.Client, path, accept string) {
	b.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	atStart, before, lived := heap(), anonymous(b), livingHeap()
	most, live, done := before, lived, make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
				most, live = max(most, anonymous(b)), max(live, livingHeap())
			}
		}
	}()
	used := processorTime(b)
	res := r.open(b, client, path, accept)
	length, held, looking, err := readWithPauses(b, res.Body)
	close(done)
	<-stopped
	if err != nil || res.StatusCode != http.StatusOK {
		b.Fatalf("%s as %s: %s, %v", path, accept, res.Status, err)
	}
	b.ReportMetric((processorTime(b) - used - looking).Seconds(), "CPU-s")
	b.ReportMetric(max(held-atStart, 0)/(1<<20), "MiB-held")
	b.ReportMetric((heap()-atStart)/(1<<20), "MiB-kept")
	b.ReportMetric(float64(most-before)/(1<<20), "MiB-more")
	b.ReportMetric(float64(live-lived)/(1<<20), "MiB-live")
	b.ReportMetric(float64(length)/(1<<20), "MiB-answer")
}

// readWithPauses reads an answer, and looks at the most memory in use while its writer waits. To look takes processor time too.
func readWithPauses(b *testing.B, body io.Reader) (length int64, held float64, looking time.Duration, err error) {
	for until := int64(2 << 20); ; until *= 8 {
		var n int64
		n, err = io.CopyN(io.Discard, body, until-length)
		if length += n; err != nil {
			break
		}
		before := processorTime(b)
		waitAtRest(b)
		held = max(held, heap())
		looking += processorTime(b) - before
	}
	if err == io.EOF {
		err = nil
	}
	return length, held, looking, err
}

// waitAtRest waits until nobody allocates: a writer whose reader pauses goes on until the buffers of the connection are full, and
// a look at the heap meanwhile counts what it allocates as held.
func waitAtRest(b *testing.B) {
	b.Helper()
	const rest, little = 20 * time.Millisecond, 64 << 10
	deadline := time.Now().Add(patience)
	for before := allocated(); ; {
		time.Sleep(rest)
		now := allocated()
		if now-before < little {
			return
		}
		if before = now; time.Now().After(deadline) {
			b.Fatalf("in %v there was no rest of %v", patience, rest)
		}
	}
}

// allocated is how much was ever allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// livingHeap is what lived when the collector looked last.
func livingHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// anonymous is how many bytes of the process are in memory, but for those of files.
func anonymous(b *testing.B) int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("the system does not tell: ", err)
	}
	_, rest, _ := bytes.Cut(data, []byte("RssAnon:"))
	var kib int64
	_, _ = fmt.Sscan(string(rest), &kib)
	return kib << 10
}
