package server_test

import (
	"bytes"
	"context"
	"encoding/json"
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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/filter"
	"github.com/kx-apiserver/kx/server/options"
)

const kxRoot = "/apis/kx.dev/v1alpha1/"

func allow(o *options.Options) { o.Allow.Breakpoints, o.Allow.Faults = options.Always, options.Always }

// kx asks the server's own group, and wants a code.
func (r *running) kx(t testing.TB, method, path string, body any, code int, into any) {
	t.Helper()
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(marshal(t, body))
	}
	res, data := ask(t, r.httpClient(t), method, r.URL+kxRoot+path, reader, "Content-Type: application/json")
	if res.StatusCode != code {
		t.Fatalf("%s %s: %s %s, want %d", method, path, res.Status, data, code)
	}
	if into != nil {
		must(t, json.Unmarshal(data, into))
	}
}

func (r *running) breakAt(t testing.TB, name string, spec v1alpha1.BreakpointSpec) {
	t.Helper()
	r.kx(t, "POST", "breakpoints", &v1alpha1.Breakpoint{ObjectMeta: named(name), Spec: spec}, 201, nil)
}

func (r *running) fault(t testing.TB, name string, spec v1alpha1.FaultSpec) {
	t.Helper()
	r.kx(t, "POST", "faults", &v1alpha1.Fault{ObjectMeta: named(name), Spec: spec}, 201, nil)
}

// heldBy waits until a breakpoint holds a request, and returns its journey.
func (r *running) heldBy(t testing.TB, name string) *v1alpha1.Journey {
	t.Helper()
	var b v1alpha1.Breakpoint
	until(t, "the breakpoint holds a request", func() bool {
		r.kx(t, "GET", "breakpoints/"+name, nil, 200, &b)
		return b.Status.Held > 0
	})
	return r.journeyOf(t, b.Status.LastHit.Journey)
}

func (r *running) journeyOf(t testing.TB, name string) *v1alpha1.Journey {
	t.Helper()
	var j v1alpha1.Journey
	r.kx(t, "GET", "journeys/"+name, nil, 200, &j)
	return &j
}

func (r *running) tell(t testing.TB, j *v1alpha1.Journey, spec v1alpha1.JourneyCommandSpec) *v1alpha1.Journey {
	t.Helper()
	var after v1alpha1.Journey
	r.kx(t, "POST", "journeys/"+j.Name+"/step", &v1alpha1.JourneyCommand{Spec: spec}, 201, &after)
	until(t, "the request is held again, or has ended", func() bool {
		if after.Status.Phase == v1alpha1.JourneyRunning {
			after = *r.journeyOf(t, j.Name)
		}
		return after.Status.Phase != v1alpha1.JourneyRunning
	})
	return &after
}

func stepsOf(j *v1alpha1.Journey, id string) (found []v1alpha1.Step) {
	for _, s := range j.Status.Steps {
		if s.ID == id {
			found = append(found, s)
		}
	}
	return found
}

// configMap makes one with a value.
func (r *running) configMap(t testing.TB, ns, name string) *corev1.ConfigMap {
	t.Helper()
	made, err := r.admin(t).CoreV1().ConfigMaps(ns).Create(within(t), &corev1.ConfigMap{ObjectMeta: named(name), Data: map[string]string{"v": "0"}}, metav1.CreateOptions{})
	must(t, err)
	return made
}

type answered struct {
	object *corev1.ConfigMap
	err    error
}

// update sends an update without resourceVersion, and does not wait for the answer.
func (r *running) update(t testing.TB, ctx context.Context, ns, name, value string) <-chan answered {
	done := make(chan answered, 1)
	client := r.admin(t).CoreV1().ConfigMaps(ns)
	go func() {
		o, err := client.Update(ctx, &corev1.ConfigMap{ObjectMeta: named(name), Data: map[string]string{"v": value}}, metav1.UpdateOptions{})
		done <- answered{o, err}
	}()
	return done
}

// TestStolenRevision holds an update just before it is written. Others go on meanwhile, one of them with the same object:
// so the update is tried again, and its journey has both attempts.
func TestStolenRevision(t *testing.T) {
	t.Parallel()
	r := start(t, prefilled, allow)
	r.configMap(t, "default", "held")
	r.configMap(t, "default", "other")
	r.breakAt(t, "txn", v1alpha1.BreakpointSpec{Filter: "step:etcd.txn resource:configmaps name:held", Count: 1})
	const limit = 8 * time.Second // of this request only: others take as long as a busy machine needs
	first := make(chan answered, 1)
	ctx := within(t)
	put := r.admin(t).CoreV1().RESTClient().Put().Namespace("default").Resource("configmaps").Name("held").Param("timeout", limit.String()).
		Body(&corev1.ConfigMap{ObjectMeta: named("held"), Data: map[string]string{"v": "mine"}})
	go func() {
		o := &corev1.ConfigMap{}
		first <- answered{o, put.Do(ctx).Into(o)}
	}()
	j := r.heldBy(t, "txn")
	if j.Status.Phase != v1alpha1.JourneyHeld || j.Status.Held[0].ID != "etcd.txn" || !slices.Contains(j.Status.Held[0].Actions, v1alpha1.ActionFail) {
		t.Fatalf("%+v", j.Status.Held)
	}
	// Two clients go on, for longer than the request may take.
	began := time.Now()
	for n := 0; time.Since(began) < limit+limit/10; n++ {
		must(t, (<-r.update(t, within(t), "default", "other", fmt.Sprint(n))).err)
		_, err := r.admin(t).CoreV1().ConfigMaps("default").List(within(t), metav1.ListOptions{})
		must(t, err)
	}
	method, path, contentType, body, ok := v1alpha1.Steal(j)
	if !ok {
		t.Fatal("nothing to steal")
	}
	res, data := ask(t, r.httpClient(t), method, r.URL+path, bytes.NewReader(body), "Content-Type: "+contentType, filter.HoldHeader+": off")
	if res.StatusCode != 200 {
		t.Fatalf("the other writer: %s", data)
	}
	done := r.tell(t, j, v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionContinue})
	answer := <-first
	must(t, answer.err)
	if answer.object.Data["v"] != "mine" || answer.object.Annotations[v1alpha1.StolenAnnotation] != "" {
		t.Errorf("%+v", answer.object)
	}
	if tries := stepsOf(done, "store.try-update"); len(tries) != 2 || !strings.Contains(tries[1].Why, "conflict") {
		t.Errorf("tries: %+v", tries)
	}
	txns := stepsOf(done, "etcd.txn")
	if len(txns) != 2 || !strings.Contains(txns[0].Why, "nothing was written") {
		t.Errorf("transactions: %+v", txns)
	}
	i := done.Status.Interventions
	if len(i) != 1 || i[0].Kind != "Held" || i[0].User == "" || i[0].TookMicros < limit.Microseconds() || fmt.Sprint(done.Status.Touched) != "[Held]" || done.Status.HeldMicros == 0 {
		t.Errorf("%+v", done.Status)
	}
}

// TestHeldSeat: whoever is held has no seat, or a second writer would be told to come again.
func TestHeldSeat(t *testing.T) {
	t.Parallel()
	r := start(t, prefilled, allow, tokens(t, "somebody,ann,1,\"system:masters\"\nnobody,bob,2\n"), func(o *options.Options) {
		o.Limits.PriorityAndFairness, o.Limits.MaxMutatingRequestsInFlight = false, 1
	})
	r.breakAt(t, "create", v1alpha1.BreakpointSpec{Filter: "step:store.create user:ann"})
	done := make(chan error, 1)
	go func() {
		_, err := r.as(t, "somebody").CoreV1().ConfigMaps("default").Create(within(t), &corev1.ConfigMap{ObjectMeta: named("a")}, metav1.CreateOptions{})
		done <- err
	}()
	j := r.heldBy(t, "create")
	// Without a seat bob would be told to come again, before anybody asked whether he may.
	res, data := ask(t, r.anyone(t), "POST", r.URL+"/api/v1/namespaces/default/configmaps", strings.NewReader("{}"), "Authorization: Bearer nobody")
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("%s %s", res.Status, data)
	}
	r.tell(t, j, v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionContinue})
	must(t, <-done)
}

// TestStepThrough walks a create from its first step, edits it on the way, and has it fail or wait.
func TestStepThrough(t *testing.T) {
	t.Parallel()
	r := start(t, prefilled, allow)
	r.breakAt(t, "before", v1alpha1.BreakpointSpec{Filter: "step:store.before-create resource:configmaps"})
	send := func(name string) <-chan answered {
		done := make(chan answered, 1)
		go func() {
			o, err := r.admin(t).CoreV1().ConfigMaps("default").Create(within(t), &corev1.ConfigMap{ObjectMeta: named(name), Data: map[string]string{"v": "0"}}, metav1.CreateOptions{})
			done <- answered{o, err}
		}()
		return done
	}
	edit := func(patch string) v1alpha1.JourneyCommandSpec {
		spec := v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionEdit}
		must(t, json.Unmarshal(fmt.Appendf(nil, `{"patch":%s}`, patch), &spec))
		return spec
	}

	done := send("edited")
	j := r.heldBy(t, "before")
	for patch, want := range map[string]string{
		`{"metadata":{"name":"x"}}`: "can't be edited",
		`{"nonsense":1}`:            "unknown field",
		`{"data":{"v":1}}`:          "cannot unmarshal",
		`[1]`:                       "not a JSON object",
	} {
		var status metav1.Status
		r.kx(t, "POST", "journeys/"+j.Name+"/step", &v1alpha1.JourneyCommand{Spec: edit(patch)}, 400, &status)
		if !strings.Contains(status.Message, want) {
			t.Errorf("%s: %s", patch, status.Message)
		}
	}
	r.kx(t, "POST", "journeys/"+j.Name+"/step", &v1alpha1.JourneyCommand{Spec: v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionFail, Code: 500}}, 400, nil)
	r.tell(t, j, edit(`{"data":{"v":"1","w":"2"}}`))
	var ids []string
	for j.Status.Phase != v1alpha1.JourneyComplete {
		ids = append(ids, j.Status.Held[0].ID)
		j = r.tell(t, j, v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionNext})
	}
	answer := <-done
	must(t, answer.err)
	if answer.object.Data["v"] != "1" || answer.object.Data["w"] != "2" {
		t.Errorf("%v", answer.object.Data)
	}
	if ids[0] != "store.before-create" || !slices.Contains(ids, "dryrun.create") || slices.Contains(ids, "etcd.txn") || !slices.Equal(ids[len(ids)-2:], []string{"handler.encode", "handler.metrics"}) {
		t.Errorf("%v", ids)
	}
	j = r.journeyOf(t, j.Name)
	if fmt.Sprint(j.Status.Touched) != "[Held Edited]" || j.Status.Interventions[0].Message != "edited while held: data.v, data.w" {
		t.Errorf("%+v", j.Status)
	}

	done = send("failed")
	j = r.heldBy(t, "before")
	for range 20 {
		if j = r.tell(t, j, v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionInto}); j.Status.Held[0].ID == "etcd.txn" {
			break
		}
	}
	j = r.tell(t, j, v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionFail, Code: 504, Message: "no quorum"})
	if err := (<-done).err; !apierrors.IsTimeout(err) || !strings.Contains(err.Error(), "no quorum") {
		t.Error(err)
	}
	if j.Status.Code != 504 || fmt.Sprint(j.Status.Touched) != "[Held Failed]" {
		t.Errorf("%+v", j.Status)
	}
	r.kx(t, "POST", "journeys/"+j.Name+"/step", &v1alpha1.JourneyCommand{Spec: v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionNext}}, 409, nil)

	done = send("delayed")
	j = r.tell(t, r.heldBy(t, "before"), v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionDelay, Delay: &metav1.Duration{Duration: time.Millisecond}})
	must(t, (<-done).err)
	if fmt.Sprint(j.Status.Touched) != "[Held Delayed]" {
		t.Errorf("%+v", j.Status)
	}
}

// TestReleases: a hold ends with its client, its breakpoint, its lease, and its server.
func TestReleases(t *testing.T) {
	t.Parallel()
	r := start(t, prefilled, allow)
	r.configMap(t, "default", "a")
	hold := func(name string, spec v1alpha1.BreakpointSpec, ctx context.Context) (*v1alpha1.Journey, <-chan answered) {
		spec.Filter = "step:store.update name:a"
		r.breakAt(t, name, spec)
		done := r.update(t, ctx, "default", "a", name)
		return r.heldBy(t, name), done
	}
	said := func(j *v1alpha1.Journey, what string) {
		t.Helper()
		until(t, what, func() bool {
			i := r.journeyOf(t, j.Name).Status.Interventions
			return len(i) == 1 && strings.Contains(i[0].Message, what)
		})
	}
	ctx, cancel := context.WithCancel(within(t))
	j, done := hold("client", v1alpha1.BreakpointSpec{}, ctx)
	cancel()
	if err := (<-done).err; err == nil {
		t.Error("the client is gone, and has an answer")
	}
	said(j, "the request ended")
	r.kx(t, "DELETE", "breakpoints/client", nil, 200, nil)

	j, done = hold("deleted", v1alpha1.BreakpointSpec{}, within(t))
	r.kx(t, "DELETE", "breakpoints?labelSelector=none", nil, 200, nil)
	if j = r.journeyOf(t, j.Name); j.Status.Phase != v1alpha1.JourneyHeld {
		t.Error("another's breakpoint was deleted")
	}
	r.kx(t, "DELETE", "breakpoints", nil, 200, nil)
	must(t, (<-done).err)
	said(j, "the breakpoint was deleted")

	// Who watches keeps the lease until a request is held, which may take longer than that.
	ctx, cancel = context.WithCancel(within(t))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", r.URL+kxRoot+"breakpoints?watch=true", nil)
	must(t, err)
	res, err := r.httpClient(t).Do(req)
	must(t, err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	j, done = hold("leased", v1alpha1.BreakpointSpec{LeaseSeconds: 1}, within(t))
	cancel()
	must(t, (<-done).err)
	said(j, "the breakpoint was deleted")
	r.kx(t, "GET", "breakpoints/leased", nil, 404, nil)

	_, done = hold("stopped", v1alpha1.BreakpointSpec{}, within(t))
	ctx, cancel = context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	must(t, r.Stop(ctx))
	must(t, (<-done).err)
}

// TestFaults has each thing go wrong that can, as clients see it.
func TestFaults(t *testing.T) {
	t.Parallel()
	r := start(t, prefilled, allow)
	maps := r.admin(t).CoreV1().ConfigMaps("default")
	write := func(name string) error {
		_, err := maps.Create(within(t), &corev1.ConfigMap{ObjectMeta: named(name)}, metav1.CreateOptions{})
		return err
	}
	only := func(name string, spec v1alpha1.FaultSpec) {
		t.Helper()
		r.kx(t, "DELETE", "faults", nil, 200, nil)
		r.fault(t, name, spec)
	}
	for code, is := range map[int32]func(error) bool{
		409: apierrors.IsConflict, 410: apierrors.IsResourceExpired, 429: apierrors.IsTooManyRequests,
		500: apierrors.IsInternalError, 503: apierrors.IsServiceUnavailable,
	} {
		only("f", v1alpha1.FaultSpec{Effect: v1alpha1.FaultFail, Code: code, Filter: "verb:patch resource:configmaps"})
		res, data := ask(t, r.httpClient(t), "PATCH", r.URL+"/api/v1/namespaces/default/configmaps/none", strings.NewReader("{}"), "Content-Type: "+string(types.MergePatchType))
		status := apierrors.StatusError{}
		must(t, json.Unmarshal(data, &status.ErrStatus))
		if !is(&status) || res.StatusCode != int(code) || !strings.Contains(status.Error(), `injected by fault "f"`) {
			t.Errorf("%d: %s %s", code, res.Status, data)
		}
		if retry := res.Header.Get("Retry-After"); (code == 429 || code == 503) && retry != "1" {
			t.Errorf("%d: Retry-After %q", code, retry)
		}
		j := r.journeyOf(t, res.Header.Get(filter.JourneyHeader))
		if fmt.Sprint(j.Status.Touched) != "[Failed]" || !strings.Contains(j.Status.Interventions[0].Message, `failed by fault "f"`) || len(stepsOf(j, "store.update")) > 0 {
			t.Errorf("%d: %+v", code, j.Status)
		}
	}

	only("late", v1alpha1.FaultSpec{Effect: v1alpha1.FaultTimeoutAfterCommit, Filter: "verb:create resource:configmaps", Count: 1})
	if err := write("late"); !apierrors.IsTimeout(err) {
		t.Error(err)
	}
	if err := write("late"); !apierrors.IsAlreadyExists(err) {
		t.Errorf("it was not written: %v", err)
	}

	only("slow", v1alpha1.FaultSpec{Effect: v1alpha1.FaultDelay, Delay: &metav1.Duration{Duration: time.Minute}, Filter: "step:etcd.txn", Count: 1})
	_, data := ask(t, r.httpClient(t), "POST", r.URL+"/api/v1/namespaces/default/configmaps?timeout=100ms", strings.NewReader(`{"metadata":{"name":"slow"}}`))
	var status metav1.Status
	if must(t, json.Unmarshal(data, &status)); status.Code != 504 {
		t.Errorf("a request whose etcd is slow: %s", data)
	}

	list, err := maps.List(within(t), metav1.ListOptions{})
	must(t, err)
	w, err := maps.Watch(within(t), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	must(t, err)
	defer w.Stop()
	only("drop", v1alpha1.FaultSpec{Effect: v1alpha1.FaultDropWatch, Skip: 1, Count: 1, Filter: "resource:configmaps"})
	must(t, write("sent"))
	if e := <-w.ResultChan(); e.Type != watch.Added {
		t.Errorf("%+v", e)
	}
	must(t, write("not-sent"))
	if e, ok := <-w.ResultChan(); ok {
		t.Errorf("the watch is not dropped: %+v", e)
	}
	w, err = maps.Watch(within(t), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	must(t, err)
	defer w.Stop()
	only("gone", v1alpha1.FaultSpec{Effect: v1alpha1.FaultFail, Code: 410, Filter: "step:handler.watch-event resource:configmaps"})
	must(t, write("again"))
	until(t, "the watch expires", func() bool {
		e, ok := <-w.ResultChan()
		return !ok || e.Type == watch.Error && apierrors.IsResourceExpired(apierrors.FromObject(e.Object))
	})
}

// TestScriptedFaults: two servers with the same seed do the same to the same 1,000 requests.
func TestScriptedFaults(t *testing.T) {
	t.Parallel()
	half := 0.5
	fates := func() string {
		r := start(t, prefilled, allow)
		r.fault(t, "coin", v1alpha1.FaultSpec{Effect: v1alpha1.FaultFail, Code: 500, Filter: "verb:get resource:configmaps", Probability: &half, Seed: 42})
		client := r.httpClient(t)
		var fates strings.Builder
		for range 1000 {
			res, _ := ask(t, client, "GET", r.URL+"/api/v1/namespaces/default/configmaps/none", nil)
			fates.WriteString(fmt.Sprint(res.StatusCode/100, " "))
		}
		var f v1alpha1.Fault
		r.kx(t, "GET", "faults/coin", nil, 200, &f)
		if hits := strings.Count(fates.String(), "5"); f.Status.Matches != 1000 || f.Status.Hits != int64(hits) || hits < 400 || hits > 600 {
			t.Errorf("%+v, %d", f.Status, hits)
		}
		return fates.String()
	}
	if a, b := fates(), fates(); a != b {
		t.Errorf("the same seed, and\n%s\n%s", a, b)
	}
}

// TestControlIsRefused: without the flags, and to those who are no administrators.
func TestControlIsRefused(t *testing.T) {
	t.Parallel()
	r := start(t)
	for path, flag := range map[string]string{"breakpoints": "--allow-breakpoints", "faults": "--allow-faults"} {
		var status metav1.Status
		r.kx(t, "POST", path, map[string]any{"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"filter": "step:etcd.txn", "effect": "DropWatch"}}, 403, &status)
		if !strings.Contains(status.Message, flag) {
			t.Error(status.Message)
		}
		r.kx(t, "GET", path, nil, 200, nil)
	}
	var status metav1.Status
	r.kx(t, "POST", "journeys/a/step", &v1alpha1.JourneyCommand{Spec: v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionNext}}, 403, &status)
	if !strings.Contains(status.Message, "--allow-breakpoints") {
		t.Error(status.Message)
	}
	for path, body := range map[string]any{
		"compactions":     &v1alpha1.Compaction{},
		"journeys/a/step": &v1alpha1.JourneyCommand{Spec: v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionDrop}},
	} {
		if r.kx(t, "POST", path, body, 403, &status); !strings.Contains(status.Message, "--allow-faults") {
			t.Errorf("%s: %s", path, status.Message)
		}
	}
	if res, _ := ask(t, r.anyone(t), "GET", r.URL+kxRoot+"breakpoints", nil); res.StatusCode != 401 && res.StatusCode != 403 {
		t.Error(res.Status)
	}
}
