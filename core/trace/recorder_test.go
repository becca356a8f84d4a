package trace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/kx-apiserver/kx/core/steps"
)

func begin(t *testing.T, r *Recorder) (context.Context, *Journey) {
	t.Helper()
	ctx, j := r.Begin(context.Background(), Request{Method: "GET", URI: "/x"})
	if j == nil {
		t.Fatal("nothing is recorded")
	}
	return ctx, j
}

func TestStepsNest(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	ctx, j := begin(t, r)
	ctx, outer := Start(ctx, steps.StoreGet, "a")
	func() {
		err := errors.New("it broke")
		ctx, inner := Start(ctx, steps.DryRunGet, "b")
		defer inner.End(&err)
		inner.WhyText(watchFailed, "because")
		inner.Int("revision", 7)
		forked := Fork(ctx)
		var wg sync.WaitGroup
		wg.Go(func() {
			_, s := Start(forked, steps.Etcd3Get, "c")
			s.End(nil)
		})
		wg.Wait()
	}()
	outer.End(nil)
	_, after := Start(ctx, steps.HandlerEncode, "d")
	after.End(nil)
	j.Finish(Response{Code: 200})

	rec := j.Record()
	var lines []string
	for _, s := range rec.Steps {
		parent := "-"
		if s.Parent >= 0 {
			parent = rec.Steps[s.Parent].ID.String()
		}
		lines = append(lines, strings.TrimSpace(s.ID.String()+" < "+parent+" "+s.Why+" "+s.Error))
		if s.Took < 0 {
			t.Errorf("%s still runs", s.ID)
		}
	}
	got := strings.Join(lines, "\n")
	want := "store.get < -\ndryrun.get < store.get because it broke\netcd3.get < dryrun.get\nhandler.encode < -"
	if got != want {
		t.Errorf("steps:\n%s\nwant:\n%s", got, want)
	}
	if site := SiteOfStep(steps.DryRunGet); site.File != "core/trace/recorder_test.go" || !strings.HasPrefix(site.Function, "core/trace.TestStepsNest") || site.Line == 0 {
		t.Errorf("site of %s = %+v", steps.DryRunGet, site)
	}
}

func TestNobodyRecords(t *testing.T) {
	ctx, step := Start(context.Background(), steps.StoreGet, "k")
	step.Why(keyMoved, 1, 2)
	step.WhyText(watchFailed, "w")
	step.Int("n", 1)
	step.Text("n", "v")
	step.Before(&corev1.Pod{})
	step.After(&corev1.Pod{})
	step.End(nil)
	Wrote(ctx, 1)
	RecordDelivery(ctx, "ADDED", 1)
	if step.Recording() || step.Objects() || FromContext(ctx) != nil {
		t.Error("a request that nobody records is recorded")
	}
	allocs := testing.AllocsPerRun(100, func() {
		_, s := Start(ctx, steps.StoreGet, "k")
		s.End(nil)
	})
	if allocs != 0 {
		t.Errorf("a step that nobody records allocates %v times", allocs)
	}
}

func TestLimits(t *testing.T) {
	limits := Limits{Journeys: 3, Bytes: 1 << 20, JourneyBytes: 2000, Changes: 8}
	r := NewRecorder("p", limits)
	_, running := begin(t, r)
	var last *Journey
	for range 5 {
		_, last = begin(t, r)
		last.Finish(Response{})
	}
	list, _ := r.List()
	if len(list) != 4 || list[0].Journey != running || list[3].Journey != last {
		t.Errorf("kept %d journeys, want the running one and the last three", len(list))
	}
	if s := r.Stats(); s.Forgotten != 2 || s.Journeys != 4 {
		t.Errorf("Stats = %+v", s)
	}

	ctx, full := begin(t, r)
	for range 20 {
		_, s := Start(ctx, steps.StoreGet, "key")
		s.End(nil)
	}
	full.Finish(Response{})
	if rec := full.Record(); len(rec.Steps) == 0 || len(rec.Steps)+rec.Cut != 20 {
		t.Errorf("%d steps kept and %d cut, of 20", len(rec.Steps), rec.Cut)
	}
}

// TestRunningJourneysAreBounded: watches run for hours, and are many. All of them together take what the recorder may take,
// and not at the cost of a history.
func TestRunningJourneysAreBounded(t *testing.T) {
	r := NewRecorder("p", Limits{Journeys: 3, Bytes: 10 * reserveBytes, JourneyBytes: 1 << 20, Changes: 8})
	watches := map[*Journey]context.Context{}
	for range 20 {
		ctx, j := begin(t, r)
		watches[j] = ctx
		for range 1000 {
			_, s := Start(ctx, steps.HandlerWatchEvent, "ADDED")
			s.Text("key", "a/b")
			s.End(nil)
		}
	}
	taken, cut := 0, 0
	for j := range watches {
		cut += j.Record().Cut
		taken += j.reserved
	}
	if taken > 5*reserveBytes || int64(taken) != r.running.Load() || cut == 0 {
		t.Errorf("they take %d bytes, counted as %d, and %d steps were cut", taken, r.running.Load(), cut)
	}
	var last *Journey
	for range 5 {
		_, last = begin(t, r)
		last.Finish(Response{})
	}
	if r.Get(last.ID()) == nil {
		t.Error("there is no room for those that end")
	}
	for j, ctx := range watches {
		j.Finish(Response{})
		if _, s := Start(ctx, steps.HandlerWatchEvent, "late"); s.Recording() {
			t.Error("a journey goes on after its end")
		}
	}
	if r.running.Load() != 0 || r.Stats().Journeys > 3 {
		t.Errorf("%d bytes are reserved when nothing runs, %+v is kept", r.running.Load(), r.Stats())
	}
}

// TestManyRunningJourneys: those that run do not push those that ended out.
func TestManyRunningJourneys(t *testing.T) {
	r := NewRecorder("p", Limits{Journeys: 3, Bytes: 1 << 20, JourneyBytes: 2 << 10, Changes: 8})
	for range 100 {
		begin(t, r)
	}
	for range 10 {
		_, j := begin(t, r)
		j.Finish(Response{})
	}
	if s := r.Stats(); s.Journeys != 103 || s.Forgotten != 7 {
		t.Errorf("Stats = %+v", s)
	}
	list, _ := r.List()
	for i, c := range list[100:] {
		if want := fmt.Sprintf("p-%d", 108+i); c.Journey.ID() != want {
			t.Errorf("%s is kept, want %s", c.Journey.ID(), want)
		}
	}
}

// TestTextsAreClipped: clients choose some of them.
func TestTextsAreClipped(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	long := strings.Repeat("ü", maxText)
	ctx, j := r.Begin(context.Background(), Request{URI: long, UserAgent: long})
	j.UpdateRequest(func(q *Request) { q.Name, q.ImpersonatedUser = long, long })
	err := errors.New(long)
	_, s := Start(ctx, steps.StoreGet, long)
	s.WhyText(watchFailed, long)
	s.Text("k", long)
	s.End(&err)
	j.Finish(Response{})
	rec := j.Record()
	step := rec.Steps[0]
	for name, text := range map[string]string{
		"URI": rec.Request.URI, "UserAgent": rec.Request.UserAgent, "Name": rec.Request.Name, "ImpersonatedUser": rec.Request.ImpersonatedUser,
		"Subject": step.Subject, "Why": step.Why, "Error": step.Error, "Text": step.Attrs[0].Text,
	} {
		if len(text) > maxText+len("…") || !strings.HasSuffix(text, "ü…") || !utf8.ValidString(text) {
			t.Errorf("%s has %d bytes", name, len(text))
		}
	}
	if rec.Cut != 0 {
		t.Errorf("%d are cut", rec.Cut)
	}
}

func TestBytesAreGivenBack(t *testing.T) {
	r := NewRecorder("p", Limits{Journeys: 1, Bytes: 1 << 20, JourneyBytes: 2 << 10, Changes: 8})
	for range 10 {
		ctx, j := begin(t, r)
		_, s := Start(ctx, steps.StoreGet, "key")
		s.End(nil)
		j.Finish(Response{})
		s.WhyText(watchFailed, "told after the end")
	}
	if s := r.Stats(); s.Bytes != journeyBytes+len("/x")+stepBytes+len("key") {
		t.Errorf("%d bytes are counted for one journey of one step", s.Bytes)
	}
}

// TestForgottenHoldsNothing: who still has a journey that was forgotten, as the changes do, does not keep its steps.
func TestForgottenHoldsNothing(t *testing.T) {
	r := NewRecorder("p", Limits{Journeys: 1, Bytes: 1 << 20, JourneyBytes: 1 << 12, Changes: 100})
	ctx, old := begin(t, r)
	_, step := Start(ctx, steps.StoreGet, "key")
	Wrote(ctx, 42)
	old.Finish(Response{})
	watch, _ := begin(t, r)
	RecordDelivery(watch, "ADDED", 42)
	if rec := old.Record(); len(rec.Steps) != 1 || len(rec.Deliveries) != 1 {
		t.Fatalf("before it is forgotten: %+v", rec)
	}
	_, latest := begin(t, r)
	latest.Finish(Response{})
	step.End(nil)
	if rec := old.Record(); r.Get(old.ID()) != nil || len(rec.Steps) != 0 || len(rec.Deliveries) != 0 || rec.Request.URI != "/x" {
		t.Errorf("after it was forgotten: %+v", rec)
	}
	ctx, unwanted := begin(t, r)
	Start(ctx, steps.StoreGet, "key")
	unwanted.Discard()
	unwanted.Finish(Response{})
	if rec := unwanted.Record(); len(rec.Steps) != 0 {
		t.Errorf("a discarded one has %d steps", len(rec.Steps))
	}
}

func TestFollow(t *testing.T) {
	r := NewRecorder("p", Limits{Journeys: 10, Bytes: 1 << 20, JourneyBytes: 1 << 10, Changes: 4})
	waited := make(chan error)
	go func() { waited <- r.Wait(context.Background(), 0) }()
	_, a := begin(t, r)
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	a.Finish(Response{Code: 201})
	changes, lost := r.Since(0)
	if lost != 0 || len(changes) != 2 || changes[0].Type != Began || changes[1].Type != Ended || changes[1].Journey != a {
		t.Fatalf("changes %+v, lost %d", changes, lost)
	}
	for range 3 {
		_, j := begin(t, r)
		j.Discard()
	}
	if changes, lost = r.Since(0); lost != 4 || len(changes) != 4 || changes[3].Type != Forgotten {
		t.Errorf("%d changes, %d lost, want the last 4 of 8", len(changes), lost)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Wait(ctx, 8); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait for a change that does not come: %v", err)
	}
}

func TestBegan(t *testing.T) {
	limits := DefaultLimits
	limits.Journeys = 1
	r := NewRecorder("p", limits)
	for range 2 {
		_, j := begin(t, r)
		j.Finish(Response{})
	}
	for id, want := range map[string]string{"p-1": "by number", "p-2": "by time", "p-3": "no", "p-0": "no", "q-1": "no", "p-x": "no"} {
		got := "no"
		if at, known := r.Began(id); known && at.IsZero() {
			got = "by number"
		} else if known {
			got = "by time"
		}
		if got != want {
			t.Errorf("%s is known: %s, want %s", id, got, want)
		}
	}
}

func TestDeliveries(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	write, writer := begin(t, r)
	watch, watcher := begin(t, r)
	watcher.UpdateRequest(func(q *Request) { q.User = "alice" })
	Wrote(write, 42)
	writer.Finish(Response{Code: 201})
	RecordDelivery(watch, "ADDED", 42)
	RecordDelivery(watch, "ADDED", 43) // somebody else's
	got := writer.Record().Deliveries
	if len(got) != 1 || got[0].Watcher != watcher.ID() || got[0].User != "alice" || got[0].Revision != 42 || got[0].Type != "ADDED" {
		t.Errorf("deliveries %+v", got)
	}
}

func TestWaitForTheEnd(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	_, j := begin(t, r)
	ended := make(chan bool)
	go func() { ended <- j.Wait(context.Background()) }()
	j.Finish(Response{})
	if !<-ended || !j.Wait(context.Background()) {
		t.Error("the end was missed")
	}
}

func TestOff(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	r.SetOff(true)
	if _, j := r.Begin(context.Background(), Request{}); j != nil {
		t.Error("recorded while off")
	}
}

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	var layer steps.Layer
	for _, id := range steps.All() {
		info := id.Info()
		if info.Name == "" || info.Title == "" || info.Upstream.Symbol == "" || info.Upstream.File == "" {
			t.Errorf("step %d is not described: %+v", id, info)
		}
		if seen[info.Name] {
			t.Errorf("two steps are named %s", info.Name)
		}
		seen[info.Name] = true
		if id == steps.InstallAPIs {
			layer = 0 // installs have their steps at the end, downward too
		}
		// What custom resources and controllers add lies on the layers of others, and so does what comes before requests.
		added := strings.HasPrefix(info.Name, "crd.") || strings.HasPrefix(info.Name, "controller.")
		if !strings.HasPrefix(info.Name, info.Layer.String()+".") && !added && id < steps.InstallAPIs {
			t.Errorf("%s is on layer %s", info.Name, info.Layer)
		}
		if info.Layer < layer {
			t.Errorf("%s is out of order", info.Name)
		}
		layer = info.Layer
		if found, ok := steps.Lookup(info.Name); !ok || found != id {
			t.Errorf("Lookup(%s) = %v, %v", info.Name, found, ok)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	r := NewRecorder("p", DefaultLimits)
	for _, on := range []bool{false, true} {
		b.Run(map[bool]string{false: "off", true: "on"}[on], func(b *testing.B) {
			r.SetOff(!on)
			b.ReportAllocs()
			for b.Loop() {
				ctx, j := r.Begin(context.Background(), Request{})
				for range 24 {
					_, s := Start(ctx, steps.StoreGet, "key")
					s.Int("revision", 1)
					s.Why(noConflict)
					s.End(nil)
				}
				if j != nil {
					j.Finish(Response{})
				}
			}
		})
	}
}

func TestLevelOfNewJourneys(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	_, before := begin(t, r)
	r.SetLevel(Objects)
	ctx, after := begin(t, r)
	_, step := Start(ctx, steps.StoreGet, "a")
	if before.Record().Level != Steps || after.Record().Level != Objects || !step.Objects() {
		t.Errorf("the one before has level %v, the one after %v", before.Record().Level, after.Record().Level)
	}
}

// TestInBackground: what the server does by itself takes no room from what somebody asked for.
func TestInBackground(t *testing.T) {
	r := NewRecorder("p", Limits{Journeys: 8, Bytes: 1 << 20, JourneyBytes: 1 << 16, Changes: 64})
	record := func(background bool) *Journey {
		_, j := r.Begin(context.Background(), Request{Verb: "get"})
		if background {
			j.InBackground()
		}
		j.Finish(Response{Code: 200})
		return j
	}
	var asked, background []*Journey
	for range 8 {
		asked = append(asked, record(false))
	}
	for range 20 {
		background = append(background, record(true))
	}
	kept := func(all []*Journey) (n int) {
		for _, j := range all {
			if r.Get(j.ID()) != nil {
				n++
			}
		}
		return n
	}
	if kept(asked) != 8 || kept(background) != 2 || r.Get(background[19].ID()) == nil {
		t.Errorf("%d asked for and %d of the background are kept", kept(asked), kept(background))
	}
	r.limits.Bytes = 0
	last := record(false)
	if kept(asked) != 0 || kept(background) != 0 || r.Get(last.ID()) == nil {
		t.Errorf("without room, %d asked for and %d of the background are kept", kept(asked), kept(background))
	}
}
