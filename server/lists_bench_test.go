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
	"testing"
	"time"

	"github.com/kx-apiserver/kx/server/options"
)

// BenchmarkLongLists lists many objects of 10 KB in every form, and says how long each list took, how long the answer was, and by
// how many MiB two things grew at most: what lived at a collection, and what the process had in memory of its own. The latter
// holds what is not collected yet, since Go's collector lets a heap double. KX_LIST_OBJECTS is how many objects there are:
//
//	KX_LIST_OBJECTS=150000 go test ./server -run NONE -bench LongLists -benchtime 1x -timeout 1h
func BenchmarkLongLists(b *testing.B) {
	objects := 1000
	if text := os.Getenv("KX_LIST_OBJECTS"); text != "" {
		var err error
		objects, err = strconv.Atoi(text)
		must(b, err)
	}
	r := start(b, func(o *options.Options) { o.Limits.RequestTimeout = 30 * time.Minute })
	r.fillEtcd(b, "/registry/configmaps/default/", objects, storedConfigMap(b))
	crd := cronTab("long.example.com")
	older := crd.Spec.Versions[0]
	older.Name, older.Storage = "v1beta1", false
	crd.Spec.Versions = append(crd.Spec.Versions, older)
	r.define(b, crd)
	r.fillEtcd(b, "/registry/long.example.com/crontabs/default/", objects, storedTab(b))
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
	before, lived := anonymous(b), livingHeap()
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
	res := r.open(b, client, path, accept)
	length, err := io.Copy(io.Discard, res.Body)
	close(done)
	<-stopped
	if err != nil || res.StatusCode != http.StatusOK {
		b.Fatalf("%s as %s: %s, %v", path, accept, res.Status, err)
	}
	b.ReportMetric(float64(most-before)/(1<<20), "MiB-more")
	b.ReportMetric(float64(live-lived)/(1<<20), "MiB-live")
	b.ReportMetric(float64(length)/(1<<20), "MiB-answer")
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
