package etcd3_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
)

// gathered returns the metrics by name and labels: the value of a counter or gauge, how often a histogram was fed.
func gathered(t *testing.T, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, m := range family.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := family.GetName() + "{" + strings.Join(labels, ",") + "}"
			values[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return values
}

func TestMetrics(t *testing.T) {
	group := schema.GroupResource{Group: "measured", Resource: "things"}
	registry := prometheus.NewPedanticRegistry()
	counts := metrics.New(registry)
	s, client, prefix := shared(t, func(o *etcd3.Options) { o.GroupResource, o.Metrics = group, counts })
	// Without initial events, what comes is an event of etcd's.
	no := false
	changes := everything
	changes.SendInitialEvents = &no
	w, err := s.Watch(t.Context(), "/configmaps/", changes)
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, "a", "x")
	next(t, w)
	w.Stop()
	for range w.ResultChan() {
	}
	if err := s.Create(t.Context(), key("a"), configMap("a", "x"), nil, 0); !store.IsExist(err) {
		t.Fatal(err)
	}
	if err := s.Get(t.Context(), key("a"), store.GetOptions{}, &corev1.ConfigMap{}); err != nil {
		t.Fatal(err)
	}
	if err := s.GetList(t.Context(), "/configmaps/", everything, &corev1.ConfigMapList{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Put(t.Context(), prefix+key("b"), "garbage"); err != nil {
		t.Fatal(err)
	}
	if err := s.Get(t.Context(), key("b"), store.GetOptions{}, &corev1.ConfigMap{}); err == nil {
		t.Fatal("garbage was decoded")
	}
	stats, err := s.Stats(t.Context())
	counts.StoreStats(group, stats, err)
	got := gathered(t, registry)
	labels := "{group=measured,resource=" + group.Resource
	for name, want := range map[string]float64{
		"etcd_requests_total{group=measured,operation=create,resource=" + group.Resource + "}":                             2,
		"etcd_requests_total{group=measured,operation=get,resource=" + group.Resource + "}":                                2,
		"etcd_requests_total{group=measured,operation=listWithCount,resource=" + group.Resource + "}":                      1,
		"etcd_request_duration_seconds{group=measured,operation=create,resource=" + group.Resource + "}":                   2,
		"apiserver_storage_list_total{group=measured,index=,resource=" + group.Resource + ",storage=etcd}":                 1,
		"apiserver_storage_list_fetched_objects_total{group=measured,index=,resource=" + group.Resource + ",storage=etcd}": 1,
		"apiserver_storage_list_evaluated_objects_total" + labels + ",storage=etcd}":                                       1,
		"apiserver_storage_list_returned_objects_total" + labels + ",storage=etcd}":                                        1,
		"apiserver_storage_list_duration_seconds{group=measured,resource=" + group.Resource + ",streamed=false}":           1,
		"apiserver_storage_decode_errors_total" + labels + "}":                                                             1,
		"apiserver_resource_objects" + labels + "}":                                                                        2,
		"apiserver_storage_objects{resource=" + group.String() + "}":                                                       2,
		"apiserver_resource_size_estimate_bytes" + labels + "}":                                                            -1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if got["apiserver_storage_events_received_total"+labels+"}"] < 1 {
		t.Error("no event was counted")
	}
	for name := range got {
		if strings.HasPrefix(name, "etcd_request_errors_total") {
			t.Errorf("%s: nothing failed in etcd", name)
		}
	}
	counts.StoreStats(group, store.Stats{}, errors.New("etcd is away"))
	if count := gathered(t, registry)["apiserver_storage_objects{resource="+group.String()+"}"]; count != -1 {
		t.Errorf("after a failure there are %v objects, want -1", count)
	}
	counts.DeleteStoreStats(group)
	for name := range gathered(t, registry) {
		if strings.Contains(name, "_objects{") && !strings.Contains(name, "total") {
			t.Errorf("%s is still there", name)
		}
	}
}

// TestMetricsOfAFailure cancels a request to an etcd that does not answer, as one that does may be faster than the
// cancellation: its journey says that the failure is counted, and it is.
func TestMetricsOfAFailure(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	silent, err := clientv3.New(clientv3.Config{Logger: zap.NewNop(), Endpoints: []string{"unix://" + t.TempDir() + "/nobody.sock"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	s := open(t, silent, "/registry", func(o *etcd3.Options) {
		o.GroupResource, o.Metrics = schema.GroupResource{Resource: "things"}, metrics.New(registry)
	})
	ctx, journey := trace.NewRecorder("t", trace.DefaultLimits).Begin(t.Context(), trace.Request{})
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Get(ctx, key("a"), store.GetOptions{}, &corev1.ConfigMap{}); err == nil {
		t.Fatal("a canceled request was answered")
	}
	record := journey.Record()
	i := slices.IndexFunc(record.Steps, func(s trace.StepRecord) bool { return s.ID == steps.Etcd3Metrics })
	if i < 0 || record.Steps[i].Reason.String() != "etcd-counted-failed" || !strings.HasSuffix(record.Steps[i].Why, ": operation=get, resource=things") {
		t.Errorf("%+v", record.Steps)
	}
	if failed := gathered(t, registry)["etcd_request_errors_total{group=,operation=get,resource=things}"]; failed != 1 {
		t.Errorf("%v failures are counted, want 1", failed)
	}
}
