package trace

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	corev1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/steps"
)

func rule(t *testing.T, kind RuleKind, text string, edit ...func(*Rule)) *Rule {
	t.Helper()
	f, err := filter.Parse(text, Names)
	if err != nil {
		t.Fatal(err)
	}
	r := &Rule{Name: "r", Kind: kind, Filter: f, Probability: 1}
	for _, e := range edit {
		e(r)
	}
	return r
}

func add(t *testing.T, r *Recorder, rule *Rule) *Rule {
	t.Helper()
	if err := r.Control().Add(rule); err != nil {
		t.Fatal(err)
	}
	return rule
}

// walk is a request: an update that reads, climbs up, and writes.
func walk(ctx context.Context) (err error) {
	ctx, s := Start(ctx, steps.RESTUpdate, "a")
	defer s.End(&err)
	if err := s.Err(); err != nil {
		return err
	}
	if err := leaf(ctx, steps.EtcdGet); err != nil {
		return err
	}
	func() {
		ctx, s := Start(ctx, steps.StoreTryUpdate, "a")
		defer s.End(nil)
		_ = leaf(ctx, steps.Etcd3Encode)
	}()
	return leaf(ctx, steps.EtcdTxn)
}

func leaf(ctx context.Context, id steps.ID) (err error) {
	ctx, s := Start(ctx, id, "a")
	defer s.End(&err)
	if err := s.Err(); err != nil {
		return err
	}
	if id == steps.EtcdTxn {
		Wrote(ctx, 7)
	}
	return nil
}

// travelling is a request on its way.
type travelling struct {
	t    *testing.T
	j    *Journey
	done chan error
}

func travel(t *testing.T, ctx context.Context, r *Recorder, verb string) *travelling {
	ctx, j := r.Begin(ctx, Request{Method: "PUT", URI: "/x", Verb: verb, User: "u", Resource: "configmaps"})
	tr := &travelling{t: t, j: j, done: make(chan error, 1)}
	go func() {
		err := walk(ctx)
		j.Finish(Response{Code: 200})
		tr.done <- err
	}()
	return tr
}

// stop waits until the request is held, and says where; "" is that it ended.
func (tr *travelling) stop() string {
	tr.t.Helper()
	if !tr.j.WaitStop(tr.t.Context()) {
		tr.t.Fatal("the request neither stops nor ends")
	}
	if held := tr.j.Summary().Held; len(held) > 0 {
		return held[0].ID.String()
	}
	return ""
}

func (tr *travelling) tell(a Action, edit ...func(*Command)) string {
	tr.t.Helper()
	cmd := Command{Action: a, By: "me"}
	for _, e := range edit {
		e(&cmd)
	}
	if err := tr.j.Tell(-1, cmd); err != nil {
		tr.t.Fatal(err)
	}
	return tr.stop()
}

func (tr *travelling) texts() string {
	var texts []string
	for _, i := range tr.j.Record().Interventions {
		texts = append(texts, i.Kind.String()+" "+i.By+" "+i.Text)
	}
	return strings.Join(texts, "\n")
}

func TestStepping(t *testing.T) {
	for name, tt := range map[string]struct {
		filter string
		tell   []Action
		want   string
	}{
		"into":     {"step:rest.update", []Action{Into, Into, Into, Into, Into}, "rest.update etcd.get store.try-update etcd3.encode etcd.txn "},
		"next":     {"step:etcd.get", []Action{Next, Next, Next}, "etcd.get store.try-update etcd.txn "},
		"out":      {"step:etcd3.encode", []Action{Out, Continue}, "etcd3.encode etcd.txn "},
		"over all": {"step:rest.update", []Action{Next}, "rest.update "},
		"continue": {"layer:etcd", []Action{Continue, Continue}, "etcd.get etcd.txn "},
		"once":     {"verb:update", []Action{Continue}, "rest.update "},
		"one step": {"step(!etcd.get layer:etcd key:a)", []Action{Continue}, "etcd.txn "},
		"after":    {"step(etcd.*) after:p-0", []Action{Continue, Continue}, "etcd.get etcd.txn "},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRecorder("p", DefaultLimits)
			add(t, r, rule(t, Breakpoint, tt.filter))
			tr := travel(t, context.Background(), r, "update")
			got := []string{tr.stop()}
			for _, a := range tt.tell {
				got = append(got, tr.tell(a))
			}
			if err := <-tr.done; err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("%v: %s, want %s", err, strings.Join(got, " "), tt.want)
			}
		})
	}
}

// TestOthersGoOn: only what matches is held, and it does not know of its own end until it is told.
func TestOthersGoOn(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	bp := add(t, r, rule(t, Breakpoint, "step:etcd.txn verb:update"))
	held := travel(t, context.Background(), r, "update")
	if at := held.stop(); at != "etcd.txn" {
		t.Fatal(at)
	}
	if err := <-travel(t, context.Background(), r, "patch").done; err != nil {
		t.Fatal(err)
	}
	if n := r.Control().Counts(bp); n.Hits != 1 || n.Held != 1 || n.Last.Journey != held.j.ID() {
		t.Errorf("%+v", n)
	}
	if err := held.j.Tell(0, Command{}); !errors.Is(err, ErrNotHeld) {
		t.Error(err)
	}
	held.tell(Fail, func(c *Command) { c.Err = errors.New("it broke") })
	if err := <-held.done; err == nil || err.Error() != "it broke" {
		t.Error(err)
	}
	rec := held.j.Record()
	if !slices.Equal(rec.Touched.Kinds(), []InterventionKind{Held, Failed}) || rec.Steps[len(rec.Steps)-1].Error != "it broke" || rec.HeldFor == 0 {
		t.Errorf("%+v", rec)
	}
	if err := held.j.Tell(-1, Command{}); !errors.Is(err, ErrNotHeld) {
		t.Error(err)
	}
}

// TestReleased: what ends a hold beside a command.
func TestReleased(t *testing.T) {
	gone := errors.New("the client is gone")
	for want, end := range map[string]func(r *Recorder, bp *Rule, cancel context.CancelCauseFunc){
		"the request ended: the client is gone": func(_ *Recorder, _ *Rule, cancel context.CancelCauseFunc) { cancel(gone) },
		"the breakpoint was deleted":            func(r *Recorder, bp *Rule, _ context.CancelCauseFunc) { r.Control().Remove(bp) },
		"the server is stopping":                func(r *Recorder, _ *Rule, _ context.CancelCauseFunc) { r.Control().Close() },
	} {
		t.Run(want, func(t *testing.T) {
			r := NewRecorder("p", DefaultLimits)
			bp := add(t, r, rule(t, Breakpoint, "step:etcd.get"))
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			tr := travel(t, ctx, r, "update")
			tr.stop()
			end(r, bp, cancel)
			<-tr.done
			if got := tr.texts(); !strings.HasPrefix(got, "Held ") || !strings.HasSuffix(got, want) {
				t.Error(got)
			}
		})
	}
	r := NewRecorder("p", DefaultLimits)
	r.Control().Close()
	if err := r.Control().Add(rule(t, Breakpoint, "")); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

// TestNotHeld: what is left alone.
// TestHeldAtAFunction: a word without a field names a step by its function, upstream or here.
func TestHeldAtAFunction(t *testing.T) {
	for _, name := range []string{"KV.Txn", "leaf"} {
		r := NewRecorder("p", DefaultLimits)
		add(t, r, rule(t, Breakpoint, name+" step:etcd.txn"))
		tr := travel(t, context.Background(), r, "update")
		if got := tr.stop(); got != "etcd.txn" {
			t.Errorf("%s holds at %q", name, got)
		}
		tr.tell(Continue)
	}
}

func TestNotHeld(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	add(t, r, rule(t, Breakpoint, "step:etcd.get,etcd3.event"))
	left := map[string]func(ctx context.Context, j *Journey){
		"discarded":  func(ctx context.Context, j *Journey) { j.Discard(); _ = leaf(ctx, steps.EtcdGet) },
		"left alone": func(ctx context.Context, j *Journey) { j.LeaveAlone(); _ = leaf(ctx, steps.EtcdGet) },
		"shared":     func(ctx context.Context, _ *Journey) { s := BeginShared(ctx); _ = leaf(ctx, steps.EtcdGet); s.End() },
		"mark":       func(ctx context.Context, _ *Journey) { _ = leaf(ctx, steps.Etcd3Event) },
	}
	for name, run := range left {
		t.Run(name, func(*testing.T) {
			ctx, j := r.Begin(context.Background(), Request{})
			run(ctx, j) // or it waits for ever
		})
	}
}

func TestTooManyHeld(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	bp := add(t, r, rule(t, Breakpoint, "step:etcd.get"))
	var held []*travelling
	for range maxHeld {
		tr := travel(t, context.Background(), r, "update")
		tr.stop()
		held = append(held, tr)
	}
	if err := <-travel(t, context.Background(), r, "update").done; err != nil {
		t.Fatal(err)
	}
	if n := r.Control().Counts(bp); n.Held != maxHeld || n.Missed != 1 {
		t.Errorf("%+v", n)
	}
	r.Control().Remove(bp)
	for _, tr := range held {
		<-tr.done
	}
	if r.control.rules.Load() != nil || len(r.control.held) > 0 {
		t.Error("something is left")
	}
}

type paused struct {
	mu   sync.Mutex
	said []string
}

func (p *paused) say(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, s)
}
func (p *paused) Pause()  { p.say("pause") }
func (p *paused) Resume() { p.say("resume") }

// TestPauses has two goroutines of one request held: it is paused once.
func TestPauses(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	bp := add(t, r, rule(t, Breakpoint, "step:etcd.get"))
	ctx, j := r.Begin(context.Background(), Request{})
	p := &paused{}
	OnHold(ctx, p)
	var wg sync.WaitGroup
	for range 2 {
		forked := Fork(ctx)
		wg.Go(func() { _ = leaf(forked, steps.EtcdGet) })
	}
	var seq uint64
	for len(j.Summary().Held) < 2 {
		must(t, r.Wait(t.Context(), seq))
		_, seq = r.List()
	}
	must(t, j.Tell(1, Command{Action: Continue}))
	must(t, j.Tell(0, Command{Action: Continue}))
	wg.Wait()
	r.Control().Remove(bp)
	if got := strings.Join(p.said, " "); got != "pause resume" {
		t.Error(got)
	}
	if HeldFor(ctx) == 0 {
		t.Error("it was not held")
	}
}

type keyOf string

// TestKeptJourneyHoldsNoRequest: journeys are kept by the hundred, what their requests occupied is not, nor is the step at
// which one was told to go on to the next.
func TestKeptJourneyHoldsNoRequest(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	add(t, r, rule(t, Breakpoint, "step:etcd.get"))
	ctx, j := r.Begin(context.Background(), Request{})
	p, of := &paused{}, &paused{}
	OnHold(ctx, p)
	occupied, object := weak.Make(p), weak.Make(of)
	var own sync.WaitGroup
	own.Go(func() {
		_ = leaf(context.WithValue(ctx, keyOf("object"), of), steps.EtcdGet)
		j.Finish(Response{})
	})
	if !j.WaitStop(t.Context()) {
		t.Fatal("the request neither stops nor ends")
	}
	must(t, j.Tell(-1, Command{Action: Into}))
	own.Wait()
	runtime.GC()
	if occupied.Value() != nil || object.Value() != nil {
		t.Error("it is still there after the request")
	}
	runtime.KeepAlive(j)
}

// TestToldAtOnce: of two who tell a request to fail one is heard, and the other is told that it is not held there any more.
func TestToldAtOnce(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	add(t, r, rule(t, Breakpoint, "step:rest.update"))
	for range 100 {
		tr := travel(t, context.Background(), r, "update")
		tr.stop()
		var telling sync.WaitGroup
		var heard atomic.Int32
		for range 2 {
			telling.Go(func() {
				switch err := tr.j.Tell(-1, Command{Action: Fail, Err: errors.New("told")}); {
				case err == nil:
					heard.Add(1)
				case !errors.Is(err, ErrNotHeld):
					t.Error(err)
				}
			})
		}
		telling.Wait()
		if err := <-tr.done; heard.Load() != 1 || err == nil || err.Error() != "told" {
			t.Fatalf("%d were heard, and it ended with %v", heard.Load(), err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEdit(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	r.SetLevel(Objects)
	add(t, r, rule(t, Breakpoint, "step:store.before-update"))
	ctx, j := r.Begin(context.Background(), Request{})
	obj := &corev1.ConfigMap{Data: map[string]string{"a": "1"}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, s := StartObject(ctx, steps.StoreBeforeUpdate, "a", obj)
		s.End(nil)
	}()
	j.WaitStop(t.Context())
	if held := j.Summary().Held[0]; !held.Edits || held.Fails {
		t.Errorf("%+v", held)
	}
	refused := errors.New("no")
	if err := j.Edit(-1, "me", func(apiruntime.Object) (string, error) { return "", refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	must(t, j.Edit(0, "me", func(o apiruntime.Object) (string, error) {
		o.(*corev1.ConfigMap).Data["a"] = "2"
		return "data.a", nil
	}))
	if err := j.Tell(0, Command{Action: Fail}); !errors.Is(err, ErrNoFail) {
		t.Error(err)
	}
	must(t, j.Tell(0, Command{Action: Continue}))
	<-done
	rec := j.Record()
	if obj.Data["a"] != "2" || !strings.Contains(string(rec.Steps[0].Before), `"a":"2"`) || rec.Touched != 1<<Edited|1<<Held {
		t.Errorf("%s %+v", rec.Steps[0].Before, rec)
	}
	if err := j.Edit(0, "me", nil); !errors.Is(err, ErrNotHeld) {
		t.Error(err)
	}
}

func TestFaults(t *testing.T) {
	broke := errors.New("it broke")
	fails := func(r *Rule) { r.Effect.Err = broke }
	for name, tt := range map[string]struct {
		rule  *Rule
		err   error
		steps int
		text  string
	}{
		"at a step":       {rule(t, Fault, "step:etcd.txn", fails), broke, 5, `Failed  failed by fault "r": it broke`},
		"of a request":    {rule(t, Fault, "verb:update", fails), broke, 1, `Failed  failed by fault "r": it broke`},
		"where it can":    {rule(t, Fault, "step:etcd*", fails), broke, 2, `Failed  failed by fault "r": it broke`},
		"after commit":    {rule(t, Fault, "", fails, func(r *Rule) { r.Effect.AfterCommit = true }), broke, 5, `Failed  written, and then failed by fault "r": it broke`},
		"at the end":      {rule(t, Fault, "step:etcd.get", fails, func(r *Rule) { r.AtEnd = true }), broke, 2, `Failed  failed by fault "r": it broke`},
		"delay":           {rule(t, Fault, "step:etcd3.encode", func(r *Rule) { r.Effect.Delay = time.Millisecond }), nil, 5, `Delayed  delayed by fault "r" for 1ms`},
		"can't fail":      {rule(t, Fault, "step:etcd3.encode", fails), nil, 5, ""},
		"somebody else's": {rule(t, Fault, "user:v", fails), nil, 5, ""},
		"skipped":         {rule(t, Fault, "step:etcd.txn", fails, func(r *Rule) { r.Skip = 1 }), nil, 5, ""},
		"tracepoint":      {rule(t, Tracepoint, "step:etcd.txn"), nil, 5, "Traced  etcd.txn was reached"},
		"no event":        {rule(t, Fault, "", func(r *Rule) { r.Effect.Drop = true }), nil, 5, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRecorder("p", DefaultLimits)
			add(t, r, tt.rule)
			tr := travel(t, context.Background(), r, "update")
			err := <-tr.done
			if rec := tr.j.Record(); !errors.Is(err, tt.err) || len(rec.Steps) != tt.steps || tr.texts() != tt.text {
				t.Errorf("%v, %d steps, %q", err, len(rec.Steps), tr.texts())
			}
		})
	}
	r := NewRecorder("p", DefaultLimits)
	add(t, r, rule(t, Fault, "", func(r *Rule) { r.Effect.Drop = true }))
	ctx, _ := r.Begin(context.Background(), Request{})
	if err := leaf(ctx, steps.HandlerWatchEvent); !errors.Is(err, ErrDropped) {
		t.Error(err)
	}
}

// TestSeeds: the same seed makes the same of 1,000 matches, however many ask at once; another seed does not.
func TestSeeds(t *testing.T) {
	fate := func(seed uint64, probability float64) (hit []int) {
		r := NewRecorder("p", DefaultLimits)
		f := add(t, r, rule(t, Fault, "step:etcd.get", func(r *Rule) {
			r.Seed, r.Probability, r.Effect.Err = seed, probability, errors.New("it broke")
		}))
		ctx, _ := r.Begin(context.Background(), Request{})
		for i := range 1000 {
			s := Fork(ctx)
			if leaf(s, steps.EtcdGet) != nil {
				hit = append(hit, i)
			}
		}
		if n := r.Control().Counts(f); n.Matches != 1000 || int(n.Hits) != len(hit) {
			t.Errorf("%+v, %d", n, len(hit))
		}
		return hit
	}
	first := fate(7, 0.3)
	if n := len(first); n < 250 || n > 350 {
		t.Errorf("%d of 1000 with probability 0.3", n)
	}
	if !slices.Equal(first, fate(7, 0.3)) {
		t.Error("the same seed, and other decisions")
	}
	if slices.Equal(first, fate(8, 0.3)) {
		t.Error("another seed, and the same decisions")
	}
	if n := len(fate(7, 0)); n != 0 {
		t.Errorf("%d of 1000 with probability 0", n)
	}
	limited := rule(t, Fault, "step:etcd.get", func(r *Rule) { r.Count, r.Effect.Err = 3, errors.New("it broke") })
	r := NewRecorder("p", DefaultLimits)
	add(t, r, limited)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			ctx, _ := r.Begin(context.Background(), Request{})
			_ = leaf(ctx, steps.EtcdGet)
		})
	}
	wg.Wait()
	if n := r.Control().Counts(limited); n.Matches != 50 || n.Hits != 3 {
		t.Errorf("%+v", n)
	}
}
