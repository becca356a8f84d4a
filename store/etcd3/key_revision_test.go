package etcd3_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kx-apiserver/kx/store"
)

// TestKeyRevisionsTogether has many ask at once, some for the same key, some for none, while the keys change: nobody gets
// an answer that is older than its question.
func TestKeyRevisionsTogether(t *testing.T) {
	s, _, _ := shared(t, nil)
	source := s.(store.EncodedSource)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			name := fmt.Sprintf("n%d", i%25)
			if i >= 25 {
				name = fmt.Sprintf("none%d", i%3)
			}
			for n := range 20 {
				var want int64
				if i < 25 {
					out := &corev1.ConfigMap{}
					if n == 0 {
						out = create(t, s, name, "a")
					} else if err := s.GuaranteedUpdate(t.Context(), key(name), out, setData(fmt.Sprint(n)), store.UpdateOptions{}); err != nil {
						t.Error(err)
					}
					_, _ = fmt.Sscan(out.ResourceVersion, &want)
				}
				got, etcd, err := source.KeyRevision(t.Context(), key(name))
				if err != nil || got != want || etcd < want {
					t.Errorf("%s is at %d of %d, %v; want %d", name, got, etcd, err, want)
				}
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := source.KeyRevision(ctx, key("n1")); err == nil {
		t.Error("a question was answered to nobody")
	}
	if got, _, err := source.KeyRevision(t.Context(), key("n1")); err != nil || got == 0 {
		t.Errorf("%d, %v", got, err)
	}
}

func BenchmarkKeyRevision(b *testing.B) {
	s, _, _ := shared(b, nil)
	create(b, s, "a", "x")
	source := s.(store.EncodedSource)
	b.SetParallelism(8)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, _, err := source.KeyRevision(b.Context(), key("a")); err != nil {
				b.Fatal(err)
			}
		}
	})
}
