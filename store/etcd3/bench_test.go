package etcd3_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

const kib = 1024

// recorded runs a benchmark of call without and with a journey around each.
func recorded(b *testing.B, call func(ctx context.Context) error) {
	b.Run("off", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := call(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("recorded", func(b *testing.B) {
		recorder := trace.NewRecorder("b", trace.DefaultLimits)
		b.ReportAllocs()
		for b.Loop() {
			ctx, journey := recorder.Begin(b.Context(), trace.Request{})
			if err := call(ctx); err != nil {
				b.Fatal(err)
			}
			journey.Finish(trace.Response{})
		}
	})
}

func BenchmarkGet(b *testing.B) {
	s, _, _ := shared(b, nil)
	create(b, s, "a", strings.Repeat("x", kib))
	recorded(b, func(ctx context.Context) error {
		return s.Get(ctx, key("a"), store.GetOptions{}, &corev1.ConfigMap{})
	})
}

var names atomic.Int64

func BenchmarkCreate(b *testing.B) {
	s, _, _ := shared(b, nil)
	data := strings.Repeat("x", kib)
	recorded(b, func(ctx context.Context) error {
		name := fmt.Sprintf("n%d", names.Add(1))
		return s.Create(ctx, key(name), configMap(name, data), &corev1.ConfigMap{}, 0)
	})
}

func BenchmarkUpdate(b *testing.B) {
	s, _, _ := shared(b, nil)
	create(b, s, "a", strings.Repeat("x", kib))
	b.ReportAllocs()
	for b.Loop() {
		data := fmt.Sprintf("%01024d", names.Add(1))
		if err := s.GuaranteedUpdate(b.Context(), key("a"), &corev1.ConfigMap{}, setData(data), store.UpdateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList500(b *testing.B) {
	s, _, _ := shared(b, nil)
	for i := range 500 {
		create(b, s, fmt.Sprintf("n%03d", i), strings.Repeat("x", kib))
	}
	b.ReportAllocs()
	for b.Loop() {
		list := &corev1.ConfigMapList{}
		if err := s.GetList(b.Context(), "/configmaps/", everything, list); err != nil || len(list.Items) != 500 {
			b.Fatal(len(list.Items), err)
		}
	}
}

// BenchmarkWatch is from a write to its event.
func BenchmarkWatch(b *testing.B) {
	s, _, _ := shared(b, nil)
	create(b, s, "a", strings.Repeat("x", kib))
	w, err := s.Watch(b.Context(), "/configmaps/", everything)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Stop()
	<-w.ResultChan()
	b.ReportAllocs()
	for b.Loop() {
		data := fmt.Sprintf("%01024d", names.Add(1))
		if err := s.GuaranteedUpdate(b.Context(), key("a"), &corev1.ConfigMap{}, setData(data), store.UpdateOptions{}); err != nil {
			b.Fatal(err)
		}
		if e := <-w.ResultChan(); e.Type != watch.Modified {
			b.Fatal(e.Type)
		}
	}
}
