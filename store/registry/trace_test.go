package registry

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// recorded runs f in a journey, with objects, and returns the steps of the layers store and dryrun: indented by what
// called them, with their reasons.
func recorded(ctx context.Context, f func(ctx context.Context)) (lines []string, record trace.Record) {
	ctx, journey := trace.NewRecorder("test", trace.DefaultLimits).Begin(ctx, trace.Request{})
	journey.SetLevel(trace.Objects)
	f(ctx)
	journey.Finish(trace.Response{Code: 200})
	record = journey.Record()
	depth := make([]int, len(record.Steps))
	for i, step := range record.Steps {
		if step.Parent >= 0 {
			depth[i] = depth[step.Parent]
		}
		info := step.ID.Info()
		if layer := info.Layer; (layer == steps.LayerStore || layer == steps.LayerDryRun) && !info.Fine {
			line := strings.Repeat("  ", depth[i]) + step.ID.String() + " " + step.Subject
			if step.Why != "" {
				line += ": " + step.Why
			}
			lines = append(lines, line)
			depth[i]++
		}
	}
	return lines, record
}

// stepTest is a request and the steps it takes.
type stepTest struct {
	name string
	do   func(ctx context.Context)
	want []string
}

func checkSteps(t *testing.T, ctx context.Context, tests []stepTest) {
	t.Helper()
	for _, tt := range tests {
		lines, _ := recorded(ctx, tt.do)
		for i, line := range lines {
			if at := strings.Index(line, "on revision "); at >= 0 {
				lines[i] = line[:at] + "on revision R"
			}
		}
		if diff := cmp.Diff(tt.want, lines); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestSteps(t *testing.T) {
	e, ctx := newStore(t, newStrategy(), graceful), inNamespace(t, "ns")
	checkSteps(t, ctx, []stepTest{
		{"create", func(ctx context.Context) { mustCreate(t, ctx, e, pod("a", onNode("n"))) }, []string{
			"store.create /pods/ns/a: the client chose the name",
			"  store.before-create Pod a: valid, in the form that is stored",
			"    store.prepare *registry.strategy",
			"  dryrun.create /pods/ns/a: not a dry run: passed on",
		}},
		{"dry run", func(ctx context.Context) {
			if _, err := e.Create(ctx, pod("b"), nil, &metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
				t.Error(err)
			}
		}, []string{
			"store.create /pods/ns/b: the client chose the name",
			"  store.before-create Pod b: valid, in the form that is stored",
			"    store.prepare *registry.strategy",
			"  dryrun.create /pods/ns/b: dry run: look whether the key is free, write nothing",
		}},
		{"get", func(ctx context.Context) { mustGet(t, ctx, e, "a") }, []string{
			"store.get /pods/ns/a: resourceVersion unset: the latest state is wanted",
			"  dryrun.get /pods/ns/a",
		}},
		{"list", func(ctx context.Context) { remaining(t, ctx, e) }, []string{
			"store.list /pods/ns: one namespace of the resource",
			"  dryrun.list /pods/ns",
		}},
		{"watch", func(ctx context.Context) {
			w, err := e.Watch(ctx, &metainternalversion.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			w.Stop()
		}, []string{
			"store.watch /pods/ns: one namespace of the resource",
			"  dryrun.watch /pods/ns",
		}},
	})
}

func TestStepsOfUpdates(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	mustCreate(t, ctx, e, pod("a"))
	checkSteps(t, ctx, []stepTest{
		{"update", func(ctx context.Context) {
			if _, _, err := e.Update(ctx, "a", increment(nil), rest.UpdateAdmission{}, &metav1.UpdateOptions{}); err != nil {
				t.Error(err)
			}
		}, []string{
			"store.update /pods/ns/a: a missing object is an error: updates do not create the resource",
			"  dryrun.update /pods/ns/a: not a dry run: passed on",
			"    store.try-update /pods/ns/a: attempt 1: on revision R",
			"      store.before-update Pod a: valid, in the form that is stored",
			"        store.prepare *registry.strategy",
		}},
		{"conflict", func(ctx context.Context) {
			first := true
			info := increment(func() {
				if first {
					first = false
					mustPut(t, inNamespace(t, "ns"), e, pod("a", onNode("m")))
				}
			})
			if _, _, err := e.Update(ctx, "a", info, rest.UpdateAdmission{}, &metav1.UpdateOptions{}); err != nil {
				t.Error(err)
			}
		}, []string{
			"store.update /pods/ns/a: a missing object is an error: updates do not create the resource",
			"  dryrun.update /pods/ns/a: not a dry run: passed on",
			"    store.try-update /pods/ns/a: attempt 1: on revision R",
			"      store.before-update Pod a: valid, in the form that is stored",
			"        store.prepare *registry.strategy",
			"    store.try-update /pods/ns/a: attempt 2: conflict: somebody else wrote in between, so it is tried again on revision R",
			"      store.before-update Pod a: valid, in the form that is stored",
			"        store.prepare *registry.strategy",
		}},
	})
}

func TestStepsOfDeletions(t *testing.T) {
	e, ctx := newStore(t, newStrategy(), graceful), inNamespace(t, "ns")
	mustCreate(t, ctx, e, pod("a", onNode("n")))
	checkSteps(t, ctx, []stepTest{
		{"graceful delete", func(ctx context.Context) {
			if _, _, err := del(ctx, e, "a", &metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}, []string{
			"store.delete /pods/ns/a: it is marked as deleting: a finalizer or the end of its grace period removes it",
			"  dryrun.get /pods/ns/a",
			"  store.before-delete Pod a: a grace period of 30 s begins",
			"  dryrun.update /pods/ns/a: not a dry run: passed on",
			"    store.before-delete Pod a: a grace period of 30 s begins",
		}},
		{"deletecollection", func(ctx context.Context) {
			if _, err := e.DeleteCollection(ctx, rest.ValidateAllObjectFunc, metav1.NewDeleteOptions(0), nil); err != nil {
				t.Error(err)
			}
		}, []string{
			"store.deletecollection /pods/ns: 1 objects found and deleted",
			"  store.list /pods/ns: one namespace of the resource",
			"    dryrun.list /pods/ns",
			"  store.delete /pods/ns/a: nothing to wait for: it is removed",
			"    dryrun.get /pods/ns/a",
			"    store.before-delete Pod a: its grace period is shortened from 30 s to 0 s",
			"    dryrun.update /pods/ns/a: not a dry run: passed on",
			"      store.before-delete Pod a: its grace period is shortened from 30 s to 0 s",
			"    dryrun.delete /pods/ns/a: not a dry run: passed on",
		}},
	})
}

// Whoever looks at a step sees what it changed.
func TestStepsShowObjects(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	sent := pod("a")
	sent.Status.Message = "not for clients to say"
	_, record := recorded(ctx, func(ctx context.Context) { mustCreate(t, ctx, e, sent) })
	for _, step := range record.Steps {
		if step.ID != steps.StoreBeforeCreate {
			continue
		}
		var before, after corev1.Pod
		if err := json.Unmarshal(step.Before, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(step.After, &after); err != nil {
			t.Fatal(err)
		}
		if before.Status.Message == "" || before.Namespace != "" || after.Status.Message != "" || after.Namespace != "ns" || after.Generation != 1 {
			t.Errorf("before %+v, after %+v", before, after)
		}
		return
	}
	t.Error("no such step")
}
