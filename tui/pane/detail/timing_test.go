package detail

import (
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
)

func journey() *v1alpha1.Journey {
	j := &v1alpha1.Journey{}
	j.Status = v1alpha1.JourneyStatus{TookMicros: 1000, Steps: []v1alpha1.Step{
		{ID: "handler.get", Layer: "handler", Parent: -1, StartMicros: 100, TookNanos: 900_000},
		{ID: "cacher.wait", Layer: "cacher", Parent: 0, StartMicros: 200, TookNanos: 300_000},
		{ID: "etcd.get", Layer: "etcd", Parent: 0, StartMicros: 500, TookNanos: 400_000},
	}, Interventions: []v1alpha1.Intervention{{Kind: "Held", Step: 2, StartMicros: 500, TookMicros: 250}, {Step: 99, TookMicros: 1}, {Step: -1, TookMicros: 1}}}
	return j
}

func TestOf(t *testing.T) {
	r := reportTime(journey())
	us := time.Microsecond
	if r.Total != 1000*us || r.Work != 200*us || r.Wait != 300*us || r.Etcd != 150*us || r.OnPurpose != 250*us || r.Outside != 100*us {
		t.Errorf("%+v", r)
	}
	for i, want := range []string{" #-------#", "  ###     ", "     ==## "} {
		if got := r.bar(i, 10); got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
}

// TestParts: what the parts of a real request took is what the whole took, as steps do not overlap.
func TestParts(t *testing.T) {
	for _, j := range tuitest.Recorded(t, "../testdata/journeys.json") {
		r := reportTime(j)
		sum := r.Work + r.Wait + r.Etcd + r.OnPurpose + r.Outside
		if off := (sum - r.Total).Abs(); j.Status.Phase == v1alpha1.JourneyComplete && off > 100*time.Microsecond {
			t.Errorf("%s: %v in all, the parts are %v", j.Name, r.Total, sum)
		}
		for i := range r.Steps {
			if bar := r.bar(i, 30); len(bar) != 30 || !r.Steps[i].Running && !strings.ContainsAny(bar, "#-=") {
				t.Errorf("%s, %d: %q", j.Name, i, bar)
			}
		}
	}
}

func TestHostile(t *testing.T) {
	j := journey()
	j.Status.TookMicros = 0
	for i := range j.Status.Steps {
		j.Status.Steps[i].StartMicros, j.Status.Steps[i].TookNanos, j.Status.Steps[i].Parent = -1<<40, 1<<60, int32(i)
	}
	r := reportTime(j)
	for i := range r.Steps {
		r.bar(i, 10)
		r.bar(i, 0)
	}
	(&timeReport{Steps: make([]stepTime, 1)}).bar(0, 5)
}
