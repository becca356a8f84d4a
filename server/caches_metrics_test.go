package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// series are the metrics of a group: by name and labels, the group and the resource left out. Of a histogram it is how often
// something was observed.
func (r *running) series(t testing.TB, group string) map[string]float64 {
	t.Helper()
	_, body := ask(t, r.httpClient(t), "GET", r.URL+"/metrics", nil)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(body)))
	must(t, err)
	series := map[string]float64{}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			labels, ours := []string{}, false
			for _, l := range m.GetLabel() {
				switch l.GetName() {
				case "group":
					ours = l.GetValue() == group
				case "resource", "version":
				case "index": // nobody uses one
				default:
					labels = append(labels, l.GetValue())
				}
			}
			if !ours {
				continue
			}
			key := strings.TrimSpace(name + " " + strings.Join(labels, " "))
			switch family.GetType() {
			case dto.MetricType_HISTOGRAM:
				series[key] = float64(m.GetHistogram().GetSampleCount())
			case dto.MetricType_GAUGE:
				series[key] = m.GetGauge().GetValue()
			default:
				series[key] = m.GetCounter().GetValue()
			}
		}
	}
	return series
}

// TestCacheMetrics reads what is counted after requests that are to be counted, under the names of Kubernetes 1.37, and
// that all of it goes with the resource.
func TestCacheMetrics(t *testing.T) {
	t.Parallel()
	r, ctx := start(t, prefilled), within(t)
	const group = "metrics.example.com"
	gv := schema.GroupVersion{Group: group, Version: "v1"}
	r.define(t, cronTab(group))
	tabs := r.dynamic(t).Resource(gv.WithResource("crontabs")).Namespace("default")
	const objects = 3
	for i := range objects {
		_, err := tabs.Create(ctx, tab(gv, "default", fmt.Sprintf("o-%d", i)), metav1.CreateOptions{})
		must(t, err)
	}
	for _, options := range []metav1.ListOptions{{}, {ResourceVersion: "0"}, {LabelSelector: "none=such"}} {
		_, err := tabs.List(ctx, options)
		must(t, err)
	}
	yes := true
	watcher, err := tabs.Watch(ctx, metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	must(t, err)
	for e := range watcher.ResultChan() {
		if e.Type == watch.Bookmark {
			break
		}
	}
	must(t, tabs.Delete(ctx, "o-0", metav1.DeleteOptions{}))
	if e := <-watcher.ResultChan(); e.Type != watch.Deleted {
		t.Fatalf("%+v", e)
	}
	watcher.Stop()
	if code := r.read(t, cachesPath+"/crontabs."+group+"/check", &v1alpha1.CacheCheck{}); code != 200 {
		t.Fatal(code)
	}

	var got map[string]float64
	// A client may have an event before it is counted that it was handed out.
	until(t, "the event is counted", func() bool {
		got = r.series(t, group)
		for _, name := range []string{
			"apiserver_watch_cache_events_dispatched_total", "apiserver_watch_events_dispatch_duration_seconds total",
			"apiserver_watch_events_dispatch_duration_seconds cache_to_watcher", "apiserver_watch_events_dispatch_duration_seconds storage_to_cache",
		} {
			if got[name] == 0 {
				return false
			}
		}
		return true
	})
	// What is counted exactly, because nobody but this test asks.
	for name, want := range map[string]float64{
		"apiserver_cache_list_total":                                        3,
		"apiserver_cache_list_fetched_objects_total":                        3 * objects,
		"apiserver_cache_list_returned_objects_total":                       2 * objects,
		"apiserver_storage_list_total watchcache":                           3,
		"apiserver_storage_list_fetched_objects_total watchcache":           3 * objects,
		"apiserver_storage_list_evaluated_objects_total watchcache":         objects,
		"apiserver_storage_list_returned_objects_total watchcache":          2 * objects,
		"apiserver_init_events_total":                                       objects,
		"apiserver_watch_cache_initializations_total":                       1,
		"apiserver_watch_cache_initialization_duration_seconds":             1,
		"apiserver_watch_cache_initialization_errors_total":                 0,
		"apiserver_terminated_watchers_total":                               0,
		"apiserver_watch_events_dispatch_duration_seconds total":            1,
		"apiserver_watch_events_dispatch_duration_seconds cache_to_watcher": 1,
		"apiserver_watch_events_dispatch_duration_seconds storage_to_cache": 1,
		"apiserver_watch_events_total":                                      objects + 2,
		"apiserver_watch_events_sizes":                                      objects + 2,
		"apiserver_watch_list_duration_seconds namespace":                   1,
		"apiserver_storage_consistency_checks_total success":                1,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v (there: %v), want %v", name, value, ok, want)
		}
	}
	for _, name := range []string{
		"apiserver_watch_cache_events_received_total", "apiserver_watch_cache_resource_version", "apiserver_watch_cache_consistent_read_total false true",
		"watch_cache_capacity", "watch_cache_capacity_increase_total", "apiserver_storage_events_received_total",
	} {
		if got[name] == 0 {
			t.Errorf("%s is not counted", name)
		}
	}
	// Whether anything came of these depends on the time.
	for _, name := range []string{
		"apiserver_watch_cache_read_wait_seconds", "watch_cache_capacity_decrease_total", "apiserver_resource_objects",
		"apiserver_resource_size_estimate_bytes",
	} {
		if _, there := got[name]; !there {
			t.Errorf("%s is not there", name)
		}
	}
	if t.Failed() {
		for name, value := range got {
			t.Log(name, value)
		}
	}

	r.undefine(t, "crontabs."+group)
	until(t, "nothing is told of the cache of what is not served", func() bool {
		for name := range r.series(t, group) {
			if strings.Contains(name, "watch_cache") || strings.Contains(name, "apiserver_cache_list") || strings.Contains(name, " watchcache") || strings.Contains(name, "dispatch") {
				return false
			}
		}
		return true
	})
}
