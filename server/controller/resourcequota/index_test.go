package resourcequota

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/quota"
	"github.com/kx-apiserver/kx/store/admin"
)

func usageOf(t *testing.T, change func(*corev1.Pod)) *quota.Usage {
	t.Helper()
	p := &corev1.Pod{}
	change(p)
	u, err := quota.Measure(corev1.Resource("pods"), p)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestSharedUsage has objects that use the same share what is kept of that, until the last one is gone.
func TestSharedUsage(t *testing.T) {
	k := newKind(corev1.Resource("pods"))
	plain := func(*corev1.Pod) {}
	urgent := func(p *corev1.Pod) { p.Spec.PriorityClassName = "urgent" }
	for _, name := range []string{"a", "b", "c"} {
		if !k.set(name, usageOf(t, plain), 1) || k.set(name, usageOf(t, plain), 2) {
			t.Errorf("%s is new once", name)
		}
	}
	if len(k.groups) != 1 {
		t.Errorf("%d usages of objects that use the same", len(k.groups))
	}
	if !k.set("a", usageOf(t, urgent), 2) || len(k.groups) != 2 {
		t.Errorf("a pod of another class: %d usages", len(k.groups))
	}
	for _, name := range []string{"a", "b", "c"} {
		if !k.set(name, nil, 2) || k.set(name, nil, 2) {
			t.Errorf("%s goes once", name)
		}
	}
	if len(k.groups)+len(k.objects) != 0 {
		t.Errorf("%d usages of %d objects are left", len(k.groups), len(k.objects))
	}
}

// TestPodsEnd has pods end at different times.
func TestPodsEnd(t *testing.T) {
	k, now := newKind(corev1.Resource("pods")), time.Unix(1e9, 0)
	leaving := func(at time.Time, grace int64) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: at}, &grace
		}
	}
	k.set("first", usageOf(t, leaving(now, 5)), 1)
	k.set("last", usageOf(t, leaving(now.Add(time.Second), 5)), 1)
	k.set("stays", usageOf(t, func(*corev1.Pod) {}), 1)
	charged := func() (n int64) {
		for u, count := range k.usages() {
			if _, ok := u.Amounts[corev1.ResourcePods]; ok {
				n += count
			}
		}
		return n
	}
	for _, step := range []struct {
		after, next time.Duration
		charged     int64
	}{{0, 5 * time.Second, 3}, {5 * time.Second, 6 * time.Second, 2}, {6 * time.Second, 0, 1}} {
		next := k.expire(now.Add(step.after))
		if step.next == 0 && !next.IsZero() || step.next > 0 && !next.Equal(now.Add(step.next)) || charged() != step.charged {
			t.Errorf("after %v %d pods are charged, and the next one ends at %v", step.after, charged(), next)
		}
	}
	if len(k.objects) != 3 {
		t.Errorf("%d pods have a place in etcd", len(k.objects))
	}
}

// TestNothingIsKeptWithoutQuotas puts objects of a namespace that has no quota, and of one that counts other objects.
func TestNothingIsKeptWithoutQuotas(t *testing.T) {
	c := New(&work.Kit{Decoder: &admin.Decoder{Prefix: "/registry"}, Metrics: work.NewMetrics(nil), Log: slog.New(slog.DiscardHandler)})
	put := func(key, value string) { c.Put(feed.Pair{Key: key, Value: []byte(value), Revision: 7, Changed: true}) }
	put("pods/default/a", `{}`)
	if len(c.spaces) != 0 || testing.AllocsPerRun(100, func() { c.Put(feed.Pair{Key: "pods/default/a", Revision: 8, Changed: true}) }) > 0 {
		t.Error("something is kept, or allocated, without a quota")
	}
	put("resourcequotas/default/q", `{"kind":"ResourceQuota","apiVersion":"v1","spec":{"hard":{"secrets":"1"}}}`)
	put("pods/default/a", `{}`)
	if s := c.spaces["default"]; s == nil || len(s.kinds) != 0 {
		t.Errorf("%+v", s)
	}
	c.Put(feed.Pair{Key: "resourcequotas/default/q", Revision: 9, Changed: true})
	if len(c.spaces) != 0 {
		t.Error("the namespace is kept after its last quota")
	}
}

// TestEventsWhileRead has a kind be read at a revision, with events before and after it.
func TestEventsWhileRead(t *testing.T) {
	c := New(&work.Kit{Decoder: &admin.Decoder{Prefix: "/registry"}, Metrics: work.NewMetrics(nil), Log: slog.New(slog.DiscardHandler)})
	limits := feed.Pair{Key: "resourcequotas/default/q", Revision: 1,
		Value: []byte(`{"kind":"ResourceQuota","apiVersion":"v1","spec":{"hard":{"configmaps":"1"}}}`)}
	c.Put(limits)
	k := newKind(corev1.Resource("configmaps"))
	c.spaces["default"].kinds["configmaps"] = k
	value := []byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`)
	c.Put(feed.Pair{Key: "configmaps/default/a", Value: value, Revision: 5, Changed: true})
	if len(k.objects) != 0 || k.early["a"].revision != 5 {
		t.Errorf("%+v", k)
	}
	k.ready, k.at = true, 10
	for _, event := range []struct {
		revision int64
		objects  int
	}{{7, 0}, {10, 0}, {11, 1}} {
		c.Put(feed.Pair{Key: "configmaps/default/a", Value: value, Revision: event.revision, Changed: true})
		if len(k.objects) != event.objects {
			t.Errorf("after an event of revision %d there are %d objects", event.revision, len(k.objects))
		}
	}
	// A look that has the key no more drops it; one that began before the kind was read does not.
	c.Begin()
	c.Put(limits)
	c.End(9)
	if len(k.objects) != 1 {
		t.Error("an earlier look dropped an object")
	}
	c.End(12)
	if len(k.objects) != 0 {
		t.Error("an object that is gone is counted")
	}
}

// TestChargesAreSpared: what admission has charged is not given back at once, since its object may still be on the way.
func TestChargesAreSpared(t *testing.T) {
	// Its queue has a goroutine that nobody ends, which must not be among those whose time the test controls.
	c := New(&work.Kit{Decoder: &admin.Decoder{Prefix: "/registry"}, Metrics: work.NewMetrics(nil), Log: slog.New(slog.DiscardHandler)})
	synctest.Test(t, func(t *testing.T) { testChargesAreSpared(t, c) })
}

func testChargesAreSpared(t *testing.T, c *Controller) {
	q := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("5")}},
	}
	q.Status.Hard = q.Spec.Hard
	says := func(used string) {
		q.Status.Used = corev1.ResourceList{"count/configmaps": resource.MustParse(used)}
	}
	put := func(revision int64) {
		value, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		kind := []byte(`{"kind":"ResourceQuota","apiVersion":"v1",`)
		c.Put(feed.Pair{Key: "resourcequotas/default/q", Value: append(kind, value[1:]...), Revision: revision, Changed: true})
	}
	serves := func(schema.GroupResource) bool { return true }
	expect := func(when, want string) {
		t.Helper()
		got := "as it is"
		if right, _ := c.right(q, serves); right != nil {
			used := right.Used["count/configmaps"]
			got = used.String()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	says("2")
	put(1)
	k := newKind(corev1.Resource("configmaps"))
	k.ready = true
	c.spaces["default"].kinds["configmaps"] = k
	expect("charged a moment ago", "as it is")
	time.Sleep(between)
	expect("charged a second ago", "0")
	says("3")
	expect("charged, and the event is on the way", "as it is")
	put(2)
	expect("charged again", "as it is")
	time.Sleep(between)
	says("1")
	put(3)
	expect("lowered by somebody", "0")
}

// during is a log whose first message has something happen.
type during struct {
	slog.Handler
	do func()
}

func (d *during) Enabled(context.Context, slog.Level) bool { return true }

func (d *during) Handle(context.Context, slog.Record) error {
	if do := d.do; do != nil {
		d.do = nil
		do()
	}
	return nil
}

// TestReadWhileMeasured has a kind be read while an event from before is measured: the event does not replace the later
// state.
func TestReadWhileMeasured(t *testing.T) {
	log := &during{}
	c := New(&work.Kit{Decoder: &admin.Decoder{Prefix: "/registry"}, Metrics: work.NewMetrics(nil), Log: slog.New(log)})
	c.Put(feed.Pair{Key: "resourcequotas/default/q", Revision: 1,
		Value: []byte(`{"kind":"ResourceQuota","apiVersion":"v1","spec":{"hard":{"configmaps":"1"}}}`)})
	k := newKind(corev1.Resource("configmaps"))
	c.spaces["default"].kinds["configmaps"] = k
	log.do = func() {
		u, err := quota.Measure(k.resource, &corev1.ConfigMap{})
		if err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		k.set("a", u, c.round)
		k.ready, k.at = true, 10
	}
	c.Put(feed.Pair{Key: "configmaps/default/a", Value: []byte("damaged"), Revision: 5, Changed: true})
	if log.do != nil || len(k.objects) != 1 {
		t.Errorf("of the object that was read later there is %v", k.objects)
	}
}
