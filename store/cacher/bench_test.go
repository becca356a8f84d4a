package cacher_test

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/cacher"
)

// large is n pandas of 1.5 KB in a rig, 1 % of them blue.
func large(b *testing.B, n int) *rig {
	r := shared(b, nil)
	for i := range n {
		name, color := fmt.Sprintf("p%05d", i), "red"
		if i%100 == 0 {
			color = "blue"
		}
		obj := panda("ns", name, color)
		_ = unstructured.SetNestedField(obj.Object, strings.Repeat("x", 1400), "spec", "text")
		if err := r.cached.Create(b.Context(), key("ns", name), obj, nil, 0); err != nil {
			b.Fatal(err)
		}
	}
	return r
}

func BenchmarkGet(b *testing.B) {
	r := large(b, 1)
	for _, rv := range []string{"", "0"} {
		opts := store.GetOptions{ResourceVersion: rv}
		b.Run("bytes/rv="+rv, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				obj, err := r.cached.GetEncoded(b.Context(), key("ns", "p00000"), opts)
				if err != nil {
					b.Fatal(err)
				}
				data, _, ok := obj.JSON()
				if !ok {
					b.Fatal("not spliced")
				}
				_, _ = io.Discard.Write(data)
			}
		})
		b.Run("decoded/rv="+rv, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := r.cached.Get(b.Context(), key("ns", "p00000"), opts, &unstructured.Unstructured{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkList5000(b *testing.B) {
	r := large(b, 5000)
	selector := everything
	selector.Predicate.Label = labels.SelectorFromSet(labels.Set{"color": "blue"})
	page := everything
	page.Predicate.Limit = 500
	for _, c := range []struct {
		name string
		opts store.ListOptions
		want int
	}{{"all", everything, 5000}, {"selector", selector, 50}, {"page", page, 500}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				list, err := r.cached.ListEncoded(b.Context(), "/pandas/", c.opts)
				if err != nil {
					b.Fatal(err)
				}
				items := 0
				for item := range list.Items(b.Context()) {
					data, _, _ := item.(*object.Encoded).JSON()
					_, _ = io.Discard.Write(data)
					items++
				}
				if items != c.want {
					b.Fatal(items)
				}
			}
		})
	}
	b.Run("decoded", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if list := list(b, r.cached, everything); len(list.Items) != 5000 {
				b.Fatal(len(list.Items))
			}
		}
	})
}

// BenchmarkFanOut is from a write until a thousand watchers have the event's bytes.
func BenchmarkFanOut(b *testing.B) {
	const watchers = 1000
	r := large(b, 1)
	opts := everything
	opts.ResourceVersion = fmt.Sprint(r.cacher.Inspect().Revision)
	received := make(chan struct{}, watchers)
	for range watchers {
		w, err := r.cached.WatchEncoded(b.Context(), "/pandas/", opts)
		if err != nil {
			b.Fatal(err)
		}
		go func() {
			for e := range w.ResultChan() {
				data, _, _ := e.Object.(*object.Encoded).JSON()
				_, _ = io.Discard.Write(data)
				received <- struct{}{}
			}
		}()
	}
	b.ReportAllocs()
	for b.Loop() {
		r.update(b, "ns", "p00000", "red")
		for range watchers {
			<-received
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/watchers, "ns/delivery")
}

// BenchmarkDispatchToOne has a thousand watchers of other objects: an event does not visit them.
func BenchmarkDispatchToOne(b *testing.B) {
	r := large(b, 1)
	opts := everything
	opts.ResourceVersion, opts.Recursive = fmt.Sprint(r.cacher.Inspect().Revision), false
	for i := range 1000 {
		if _, err := r.cached.WatchEncoded(b.Context(), key("ns", fmt.Sprintf("other%d", i)), opts); err != nil {
			b.Fatal(err)
		}
	}
	w, err := r.cached.WatchEncoded(b.Context(), key("ns", "p00000"), opts)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.update(b, "ns", "p00000", "red")
		<-w.ResultChan()
	}
}

// BenchmarkWatchFromNow begins and ends a watch at the present revision, when the history has a thousand changes.
func BenchmarkWatchFromNow(b *testing.B) {
	r := large(b, 1000)
	opts := everything
	opts.ResourceVersion = fmt.Sprint(r.cacher.Inspect().Revision)
	b.ReportAllocs()
	for b.Loop() {
		w, err := r.cached.WatchEncoded(b.Context(), "/pandas/", opts)
		if err != nil {
			b.Fatal(err)
		}
		w.Stop()
	}
}

// BenchmarkComeBack has two thousand watches go on after a restart, each from a revision of its own, until all are told the last
// change.
func BenchmarkComeBack(b *testing.B) {
	const watchers, changes = 2000, 500
	r := shared(b, nil)
	revisions := make([]int64, changes)
	for i := range revisions {
		revisions[i] = revisionOf(r.create(b, "ns", fmt.Sprint(i), "red"))
	}
	last := revisions[changes-1]
	for b.Loop() {
		b.StopTimer()
		storage := r.again(b, cacher.Limits{})
		b.StartTimer()
		var all sync.WaitGroup
		for i := range watchers {
			opts := everything
			opts.ResourceVersion = fmt.Sprint(revisions[i%(changes-1)])
			w, err := r.cached.WatchEncoded(b.Context(), "/pandas/", opts)
			if err != nil {
				b.Fatal(err)
			}
			all.Go(func() {
				defer w.Stop()
				for e := range w.ResultChan() {
					if obj, ok := e.Object.(*object.Encoded); ok && obj.Revision() == last {
						return
					}
				}
				b.Error("a watch ended")
			})
		}
		all.Wait()
		b.ReportMetric(float64(storage.reads.Load()), "reads")
	}
}
