package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// names are the names of the config maps that a list has, with what it says of how it was made.
func (r *running) names(t testing.TB, options metav1.ListOptions) []string {
	t.Helper()
	list, err := r.admin(t).CoreV1().ConfigMaps("default").List(within(t), options)
	must(t, err)
	names := []string{}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

func (r *running) cacheOf(t testing.TB, name string) v1alpha1.CacheStatus {
	t.Helper()
	var c v1alpha1.Cache
	r.kx(t, "GET", "caches/"+name, nil, 200, &c)
	return c.Status
}

// metFault is how many of the journeys of config maps that a field selector selects met a fault at a step.
func (r *running) metFault(t testing.TB, query, fault, step string) (n int) {
	t.Helper()
	var list v1alpha1.JourneyList
	r.kx(t, "GET", "journeys?fieldSelector=spec.resource=configmaps,spec.namespace=default,"+query, nil, 200, &list)
	for i := range list.Items {
		j := r.journeyOf(t, list.Items[i].Name)
		if slices.ContainsFunc(j.Status.Interventions, func(i v1alpha1.Intervention) bool {
			return i.By == fault && i.Kind == "Delayed" && j.Status.Steps[i.Step].ID == step && strings.Contains(i.Message, "held back")
		}) {
			n++
		}
	}
	return n
}

// TestStaleCache lets the cache of config maps fall behind: who takes what it has is told of yesterday, who wants the
// latest gets it, and a watcher gets all events in the end.
func TestStaleCache(t *testing.T) {
	t.Parallel()
	r := start(t, prefilled, allow)
	maps := r.admin(t).CoreV1().ConfigMaps("default")
	r.configMap(t, "default", "before")
	list, err := maps.List(within(t), metav1.ListOptions{})
	must(t, err)
	w, err := maps.Watch(within(t), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	must(t, err)
	defer w.Stop()
	r.fault(t, "stale", v1alpha1.FaultSpec{Effect: v1alpha1.FaultStaleCache, Filter: "resource:configmaps"})
	for n := range 3 {
		r.configMap(t, "default", fmt.Sprintf("late-%d", n))
	}
	until(t, "the cache holds a change back", func() bool { return r.cacheOf(t, "configmaps").Error != "" })
	cached := metav1.ListOptions{ResourceVersion: "0"}
	if names := r.names(t, cached); !slices.Contains(names, "before") || len(names) != len(list.Items) {
		t.Errorf("the cache is not behind: %v", names)
	}
	if names := r.names(t, metav1.ListOptions{}); !slices.Contains(names, "late-2") {
		t.Errorf("who asks for the latest gets %v", names)
	}
	got, err := maps.Get(within(t), "late-2", metav1.GetOptions{})
	must(t, err)
	if got.Name != "late-2" {
		t.Errorf("%+v", got)
	}
	behind := r.cacheOf(t, "configmaps")
	if behind.State != v1alpha1.CacheLagging || behind.Lag < 3 || !strings.Contains(behind.Error, `held back by fault "stale"`) {
		t.Errorf("%+v", behind)
	}
	until(t, "the cache of secrets is fresh", func() bool { return r.cacheOf(t, "secrets").State == v1alpha1.CacheFresh })
	// The journeys of those that met it say so: the reads, and the writes whose events have gone nowhere.
	for query, want := range map[string]struct {
		step string
		n    int
	}{
		"spec.verb=create": {"etcd.txn", 3}, "spec.verb=get,spec.name=late-2": {"cacher.get", 1}, "spec.verb=list": {"cacher.list", 2},
	} {
		until(t, query+" says that it met the fault", func() bool { return r.metFault(t, query, `fault "stale"`, want.step) == want.n })
	}
	var f v1alpha1.Fault
	r.kx(t, "GET", "faults/stale", nil, 200, &f)
	if f.Status.Hits == 0 || f.Status.LastHit.Step != "cacher.reflect" || f.Status.LastHit.Journey != "" {
		t.Errorf("%+v", f.Status)
	}

	r.kx(t, "DELETE", "faults/stale", nil, 200, nil)
	for n := range 3 {
		if e := <-w.ResultChan(); e.Type != watch.Added || e.Object.(*corev1.ConfigMap).Name != fmt.Sprintf("late-%d", n) {
			t.Errorf("event %d: %+v", n, e)
		}
	}
	until(t, "the cache has caught up", func() bool {
		now := r.cacheOf(t, "configmaps")
		return now.State == v1alpha1.CacheFresh && now.Lag == 0
	})
	if names := r.names(t, cached); !slices.Contains(names, "late-2") {
		t.Errorf("the cache lost changes: %v", names)
	}
	var check v1alpha1.CacheCheck
	r.kx(t, "GET", "caches/configmaps/check", nil, 200, &check)
	if !check.Status.Consistent {
		t.Errorf("%+v", check.Status)
	}
}

// TestStaleCacheAndCompaction: what was held back and is compacted meanwhile can't be told to watchers. They are told so,
// and the cache is filled again.
func TestStaleCacheAndCompaction(t *testing.T) {
	t.Parallel()
	r := start(t, prefilled, allow)
	maps := r.admin(t).CoreV1().ConfigMaps("default")
	list, err := maps.List(within(t), metav1.ListOptions{})
	must(t, err)
	w, err := maps.Watch(within(t), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	must(t, err)
	defer w.Stop()
	r.fault(t, "stale", v1alpha1.FaultSpec{Effect: v1alpha1.FaultStaleCache, Filter: "resource:configmaps"})
	for _, name := range []string{"a", "b", "c"} {
		r.configMap(t, "default", name)
	}
	until(t, "the cache holds a change back", func() bool { return r.cacheOf(t, "configmaps").Error != "" })
	var done v1alpha1.Compaction
	r.kx(t, "POST", "compactions", &v1alpha1.Compaction{}, 201, &done)
	if done.Status.Revision == 0 {
		t.Errorf("%+v", done)
	}
	// What is compacted can be neither compacted again nor listed.
	var status metav1.Status
	again := &v1alpha1.Compaction{Spec: v1alpha1.CompactionSpec{Revision: done.Status.Revision}}
	r.kx(t, "POST", "compactions", again, 422, &status)
	if !strings.Contains(status.Message, "no such revision to compact") {
		t.Error(status.Message)
	}
	again.Spec.Revision = 1 << 40
	r.kx(t, "POST", "compactions", again, 422, nil)
	again.Spec.Revision = -1
	r.kx(t, "POST", "compactions", again, 422, nil)
	r.kx(t, "POST", "compactions?dryRun=All", &v1alpha1.Compaction{}, 400, nil)

	r.kx(t, "DELETE", "faults/stale", nil, 200, nil)
	var last watch.Event
	for e := range w.ResultChan() {
		last = e
	}
	if err := apierrors.FromObject(last.Object); last.Type != watch.Error || !apierrors.IsResourceExpired(err) {
		t.Errorf("the watch ended with %+v", last)
	}
	until(t, "the cache is filled again", func() bool { return slices.Contains(r.names(t, metav1.ListOptions{ResourceVersion: "0"}), "c") })
}

// TestFaultsOfCaches disturbs what the cache does with events: late, or with its watch or those of its clients ended.
func TestFaultsOfCaches(t *testing.T) {
	t.Parallel()
	r := start(t, prefilled, allow)
	maps := r.admin(t).CoreV1().ConfigMaps("default")
	follow := func() (watch.Interface, string) {
		t.Helper()
		list, err := maps.List(within(t), metav1.ListOptions{})
		must(t, err)
		w, err := maps.Watch(within(t), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		must(t, err)
		t.Cleanup(w.Stop)
		return w, list.ResourceVersion
	}
	next := func(w watch.Interface) string {
		e, ok := <-w.ResultChan()
		if !ok {
			return "closed"
		}
		return string(e.Type) + " " + e.Object.(*corev1.ConfigMap).Name
	}
	for n, step := range []string{"cacher.reflect", "cacher.process-event", "cacher.dispatch"} {
		w, _ := follow()
		name := fmt.Sprintf("slow-%d", n)
		r.fault(t, name, v1alpha1.FaultSpec{
			Effect: v1alpha1.FaultDelay, Delay: &metav1.Duration{Duration: time.Millisecond}, Filter: "step:" + step + " name:" + name,
		})
		for _, made := range []string{name, name + "-after"} {
			r.configMap(t, "default", made)
			if got := next(w); got != "ADDED "+made {
				t.Errorf("%s: %s", step, got)
			}
		}
		var f v1alpha1.Fault
		r.kx(t, "GET", "faults/"+name, nil, 200, &f)
		if f.Status.Hits != 1 || f.Status.LastHit.Step != step {
			t.Errorf("%s: %+v", step, f.Status)
		}
	}

	// The cache's own watch is dropped: it looks for another, and nobody misses anything.
	w, _ := follow()
	r.fault(t, "own", v1alpha1.FaultSpec{Effect: v1alpha1.FaultDropWatch, Filter: "step:cacher.process-event resource:configmaps", Count: 1})
	r.configMap(t, "default", "dropped")
	if got := next(w); got != "ADDED dropped" {
		t.Error(got)
	}

	// Those of clients are, at one event.
	w, version := follow()
	r.fault(t, "theirs", v1alpha1.FaultSpec{Effect: v1alpha1.FaultDropWatch, Filter: "step:cacher.dispatch name:not-sent", Count: 1})
	r.configMap(t, "default", "sent")
	r.configMap(t, "default", "not-sent")
	if got := next(w) + ", " + next(w); got != "ADDED sent, closed" {
		t.Error(got)
	}
	var dropped v1alpha1.JourneyList
	r.kx(t, "GET", "journeys?filter="+"verb:watch%20resource:configmaps", nil, 200, &dropped)
	if !slices.ContainsFunc(dropped.Items, func(j v1alpha1.Journey) bool { return slices.Contains(j.Status.Touched, "Dropped") }) {
		t.Error("the journey of the watch does not say that it was dropped")
	}
	w, err := maps.Watch(within(t), metav1.ListOptions{ResourceVersion: version})
	must(t, err)
	defer w.Stop()
	if got := next(w) + ", " + next(w); got != "ADDED sent, ADDED not-sent" {
		t.Error(got)
	}
}

// TestDropWatch ends one watch by its journey, found by the cache, while another goes on.
func TestDropWatch(t *testing.T) {
	t.Parallel()
	r := start(t, prefilled, allow)
	maps := r.admin(t).CoreV1().ConfigMaps("default")
	var watches []watch.Interface
	for range 2 {
		w, err := maps.Watch(within(t), metav1.ListOptions{ResourceVersion: "0"})
		must(t, err)
		defer w.Stop()
		watches = append(watches, w)
	}
	var ids []string
	until(t, "the cache has both", func() bool {
		ids = nil
		for _, watcher := range r.cacheOf(t, "configmaps").Watchers {
			if watcher.Journey != "" {
				ids = append(ids, watcher.Journey)
			}
		}
		return len(ids) == 2
	})
	drop := v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionDrop}
	j := r.tell(t, &v1alpha1.Journey{ObjectMeta: named(ids[0])}, drop)
	for e := range watches[0].ResultChan() {
		if e.Type == watch.Error {
			t.Errorf("its client is told: %+v", e)
		}
	}
	until(t, "the watch has ended", func() bool {
		j = r.journeyOf(t, ids[0])
		return j.Status.Phase == v1alpha1.JourneyComplete
	})
	i := j.Status.Interventions
	if len(i) != 1 || i[0].Kind != "Dropped" || i[0].User == "" || !strings.Contains(stepsOf(j, "handler.watch")[0].Why, "dropped") {
		t.Errorf("%+v", j.Status)
	}
	r.kx(t, "POST", "journeys/"+ids[0]+"/step", &v1alpha1.JourneyCommand{Spec: drop}, 409, nil)
	r.configMap(t, "default", "a")
	until(t, "the other gets its event", func() bool {
		e := <-watches[1].ResultChan()
		return e.Type == watch.Added && e.Object.(*corev1.ConfigMap).Name == "a"
	})
}

// TestManyHeld: fifty requests are held, and those of others go on, as do the fifty when they are let go.
func TestManyHeld(t *testing.T) {
	t.Parallel()
	r := start(t, prefilled, allow)
	r.breakAt(t, "many", v1alpha1.BreakpointSpec{Filter: "step:etcd.txn key:*/held-*"})
	const many = 50
	client := r.httpClient(t)
	done := make(chan string, many)
	for n := range many {
		go func() {
			body := strings.NewReader(fmt.Sprintf(`{"metadata":{"name":"held-%d"}}`, n))
			res, err := client.Post(r.URL+"/api/v1/namespaces/default/configmaps", "application/json", body)
			if err != nil {
				done <- err.Error()
				return
			}
			defer res.Body.Close()
			_, _ = io.Copy(io.Discard, res.Body)
			done <- res.Status
		}()
	}
	var b v1alpha1.Breakpoint
	until(t, "all are held", func() bool {
		r.kx(t, "GET", "breakpoints/many", nil, 200, &b)
		return b.Status.Held == many
	})
	for n := range 100 {
		r.configMap(t, "default", fmt.Sprintf("free-%d", n))
		res, data := ask(t, client, http.MethodGet, r.URL+"/api/v1/namespaces/default/configmaps?limit=10", nil)
		if res.StatusCode != 200 {
			t.Fatalf("%s %s", res.Status, data)
		}
	}
	r.kx(t, "GET", "breakpoints/many", nil, 200, &b)
	if b.Status.Held != many || len(done) > 0 {
		t.Errorf("%d are held, %d are done", b.Status.Held, len(done))
	}
	r.kx(t, "DELETE", "breakpoints", nil, 200, nil)
	for range many {
		if status := <-done; status != "201 Created" {
			t.Error(status)
		}
	}
}

// TestStopReleasesFaults: a server that stops waits neither for a delay nor for a cache that is held back.
func TestStopReleasesFaults(t *testing.T) {
	t.Parallel()
	r := start(t, prefilled, allow)
	r.fault(t, "stale", v1alpha1.FaultSpec{Effect: v1alpha1.FaultStaleCache, Filter: "resource:secrets"})
	r.fault(t, "slow", v1alpha1.FaultSpec{
		Effect: v1alpha1.FaultDelay, Delay: &metav1.Duration{Duration: 10 * time.Minute}, Filter: "step:etcd.txn resource:configmaps",
	})
	_, err := r.admin(t).CoreV1().Secrets("default").Create(within(t), &corev1.Secret{ObjectMeta: named("a")}, metav1.CreateOptions{})
	must(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := r.admin(t).CoreV1().ConfigMaps("default").Create(within(t), &corev1.ConfigMap{ObjectMeta: named("a")}, metav1.CreateOptions{})
		done <- err
	}()
	until(t, "both wait", func() bool {
		var list v1alpha1.FaultList
		r.kx(t, "GET", "faults", nil, 200, &list)
		return list.Items[0].Status.Hits > 0 && list.Items[1].Status.Hits > 0
	})
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	must(t, r.Stop(ctx))
	must(t, <-done)
}
