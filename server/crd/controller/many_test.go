package controller_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/crd/controller"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
)

// TestMany has definitions of one group that all come at once.
func TestMany(t *testing.T) {
	noLeaks(t)
	etcd := builtintest.NewEtcd(t)
	p, other := start(t, etcd, noObjects{}), start(t, etcd, noObjects{})
	install(p, 200)
	for _, p := range []*process{p, other} {
		p.eventually("all of them in discovery", func() bool {
			list := page[metav1.APIResourceList](p, "/apis/g.example.com/v1", plainJSON)
			return list != nil && len(list.APIResources) == 200
		})
	}
}

// install creates definitions and waits until they are established.
func install(p *process, n int) {
	p.t.Helper()
	names := make([]string, n)
	for i := range n {
		names[i] = fmt.Sprintf("as%d.g.example.com", i)
	}
	index := func(name string) (i int) {
		_, _ = fmt.Sscanf(name, "as%d.", &i)
		return i
	}
	failures := controller.EachName(names, 32, func(name string) error {
		i := index(name)
		p.create(crd("g.example.com", fmt.Sprintf("as%d", i), fmt.Sprintf("a%d", i), fmt.Sprintf("A%d", i), fmt.Sprintf("s%d", i)))
		return nil
	})
	if len(failures) > 0 {
		p.t.Fatal(failures)
	}
	for _, name := range names {
		p.until(name, isEstablished)
	}
}

// BenchmarkInstall500 installs 500 definitions of one group: from the first create until all are established.
func BenchmarkInstall500(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		p := start(b, builtintest.NewEtcd(b), noObjects{})
		b.StartTimer()
		install(p, 500)
		b.StopTimer()
		p.stop()
		b.StartTimer()
	}
}
