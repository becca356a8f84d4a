package server_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/kx-apiserver/kx/server/options"
)

// load creates a resource of a group that is the server's own, and objects of it, and reads one of them.
func (r *running) load(t *testing.T, group string, objects, reads int) {
	t.Helper()
	ctx := within(t)
	gv := schema.GroupVersion{Group: group, Version: "v1"}
	r.define(t, cronTab(group))
	tabs := r.dynamic(t).Resource(gv.WithResource("crontabs")).Namespace("default")
	for i := range objects {
		_, err := tabs.Create(ctx, tab(gv, "default", fmt.Sprintf("o-%d", i)), metav1.CreateOptions{})
		must(t, err)
	}
	watcher, err := tabs.Watch(ctx, metav1.ListOptions{ResourceVersion: "0"})
	must(t, err)
	defer watcher.Stop()
	for range objects {
		<-watcher.ResultChan()
	}
	for range reads {
		_, err := tabs.Get(ctx, "o-0", metav1.GetOptions{})
		must(t, err)
	}
}

// figures fails the test unless the server tells these figures of a group, and none of the other group.
func (r *running) figures(t *testing.T, group, other string, objects, reads float64) {
	t.Helper()
	got := r.series(t, group)
	for name, want := range map[string]float64{
		"apiserver_request_total 201 apiserver  namespace  POST":      objects,
		"apiserver_request_total 200 apiserver  resource  GET":        reads,
		"apiserver_request_duration_seconds apiserver  resource  GET": reads,
		"etcd_requests_total create":                                  objects,
		"apiserver_init_events_total":                                 objects,
		"apiserver_watch_events_total":                                objects,
	} {
		if got[name] != want {
			t.Errorf("%s: %s is %v, want %v", group, name, got[name], want)
		}
	}
	for name := range r.series(t, other) {
		t.Errorf("the server of %s tells %s of %s", group, name, other)
	}
	if t.Failed() {
		t.Log(got)
	}
}

// TestTwoServersInOneProcess gives two servers different loads. Each answers /metrics with its own figures, and one that has
// stopped leaves neither a goroutine nor a file nor a figure.
func TestTwoServersInOneProcess(t *testing.T) {
	before := goleak.IgnoreCurrent()
	const first, second = "first.example.com", "second.example.com"
	a, stopA, err := launch()
	must(t, err)
	b, stopB, err := launch(func(o *options.Options) { o.Limits.MaxRequestsInFlight = 7 })
	must(t, err)
	t.Run("loads", func(t *testing.T) {
		a.load(t, first, 3, 2)
		b.load(t, second, 5, 4)
		a.figures(t, first, second, 3, 2)
		b.figures(t, second, first, 5, 4)
	})
	must(t, stopA())
	t.Run("the other goes on", func(t *testing.T) {
		b.figures(t, second, first, 5, 4)
		_, err := b.admin(t).CoreV1().Namespaces().Get(context.Background(), "default", metav1.GetOptions{})
		must(t, err)
	})
	must(t, stopB())
	for _, r := range []*running{a, b} {
		if _, err := os.Stat(filepath.Dir(r.Kubeconfig)); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", filepath.Dir(r.Kubeconfig), err)
		}
	}
	for _, gatherer := range []prometheus.Gatherer{prometheus.DefaultGatherer, legacyregistry.DefaultGatherer} {
		families, err := gatherer.Gather()
		must(t, err)
		for _, family := range families {
			for _, m := range family.GetMetric() {
				if slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == first || l.GetValue() == second }) {
					t.Errorf("the process tells %s %v", family.GetName(), m.GetLabel())
				}
			}
		}
	}
	if err := leaks(before); err != nil {
		t.Errorf("servers that have stopped left something behind: %v", err)
	}
}
