package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/steps"
)

// TestReasons: a step keeps the last reason with its values, however many it has, and the sentence that they make.
func TestReasons(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	ctx, j := begin(t, r)
	for range chunkEntries { // so that reasons lie across the ends of chunks
		_, s := Start(ctx, steps.StoreGet, "key")
		s.Why(noConflict)
		s.Why(keyMoved, 9, -7)
		s.End(nil)
		_, s = Start(ctx, steps.StoreGet, "key")
		s.WhyText(cacheNotReady, "Broken {revision}")
		s.End(nil)
		_, s = Start(ctx, steps.StoreGet, "key")
		s.WhyText(defaultsSet, "a, b", 2)
		s.End(nil)
		_, s = Start(ctx, steps.StoreGet, "key")
		s.Why(keyWasFree)
		s.End(nil)
		_, s = Start(ctx, steps.StoreGet, "key")
		s.End(nil)
	}
	j.Finish(Response{})
	want := []string{
		"key-moved [{revision  9 true} {expected  -7 true}] the key is at revision 9, not -7: nothing was written",
		"cache-not-ready [{state Broken {revision} 0 false}] the cache is Broken {revision}: went to etcd",
		"defaults-set [{count  2 true} {fields a, b 0 false}] defaults set, in all 2: a, b",
		"key-was-free [] the key was free",
		" [] ",
	}
	for i, s := range j.Record().Steps {
		if got := fmt.Sprint(s.Reason, " ", s.Values, " ", s.Why); got != want[i%len(want)] {
			t.Errorf("step %d: %s, want %s", i, got, want[i%len(want)])
		}
	}
}

// TestQuotesAreMasked: of a confidential request no text is kept that may quote it. The server's own words are.
func TestQuotesAreMasked(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	ctx, j := begin(t, r)
	j.UpdateRequest(func(q *Request) { q.Resource = "secrets" })
	_, s := Start(ctx, steps.StoreGet, "key")
	s.WhyText(defaultsSet, "hunter2", 1)
	_, own := Start(ctx, steps.StoreGet, "key")
	own.WhyText(cacheNotReady, "Broken")
	taken := j.Record().Steps
	if taken[0].Why != "defaults set, in all 1: (masked)" || taken[0].Values[1].Text != mask.Masked {
		t.Errorf("kept %+v", taken[0])
	}
	if taken[1].Why != "the cache is Broken: went to etcd" {
		t.Errorf("kept %+v", taken[1])
	}
}

// TestReasonsAreBounded: a text is clipped, and what a reason takes is counted.
func TestReasonsAreBounded(t *testing.T) {
	r := NewRecorder("p", Limits{Journeys: 1, Bytes: 1 << 20, JourneyBytes: journeyBytes + stepBytes + 2*maxText, Changes: 8})
	ctx, j := begin(t, r)
	_, s := Start(ctx, steps.StoreGet, "")
	s.WhyText(allowed, strings.Repeat("a", 2*maxText))
	s.WhyText(allowed, strings.Repeat("b", 2*maxText))
	rec := j.Record()
	if why := rec.Steps[0].Why; len(why) > maxText+len("…") || why[0] != 'a' || rec.Cut != 1 {
		t.Errorf("kept %d bytes that begin with %q, and cut %d", len(why), why[:1], rec.Cut)
	}
}

// TestOtherWords: a sentence of another language is filled with the same values, in its own order.
func TestOtherWords(t *testing.T) {
	values := []Attr{{Name: "revision", Int: 9, IsInt: true}, {Name: "expected", Int: 7, IsInt: true}}
	german := "statt {expected} ist die Revision {revision}: es wurde nichts geschrieben"
	if got := fill(german, values); got != "statt 7 ist die Revision 9: es wurde nichts geschrieben" {
		t.Error(got)
	}
}

// TestNoReason: the zero Reason has no name, no sentence and no values.
func TestNoReason(t *testing.T) {
	var none Reason
	if got := none.String() + none.Sentence() + none.Chinese() + none.Fill("x"); !none.IsZero() || got != "" {
		t.Errorf("%q", got)
	}
}

// TestCatalogue: filters can ask for the reasons that a catalogue was made of, and without any for all.
func TestCatalogue(t *testing.T) {
	c := NewCatalogue([]Reason{keyMoved}, nil, []Reason{noConflict})
	if got := c.Names("reason"); !slices.Equal(got, []string{"key-moved", "no-conflict"}) {
		t.Error(got)
	}
	for name, want := range map[string]Reason{"key-moved": keyMoved, "no-conflict": noConflict, "valid": {}, "": {}} {
		if got, ok := c.Reason(name); got != want || ok != !want.IsZero() {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
	for _, one := range []struct {
		catalogue Catalogue
		filter    string
		wrong     bool
	}{{c, "reason:key-moved", false}, {c, "reason:key-move", true}, {Catalogue{}, "reason:key-move", false}, {c, "step:etcd.txm", true}} {
		if _, err := filter.Parse(one.filter, one.catalogue.Names); (err != nil) != one.wrong {
			t.Errorf("%s: %v", one.filter, err)
		}
	}
}

// BenchmarkWhy compares reasons without a number, with one and with three.
func BenchmarkWhy(b *testing.B) {
	r := NewRecorder("p", DefaultLimits)
	for _, test := range []struct {
		name string
		why  func(s *Step, n int64)
	}{
		{"none", func(s *Step, _ int64) { s.Why(noConflict) }},
		{"one", func(s *Step, n int64) { s.Why(cachedAtRevision, n) }},
		{"three", func(s *Step, n int64) { s.Why(listedLatest, n, n, n) }},
		{"text", func(s *Step, _ int64) { s.WhyText(cacheNotReady, "Broken") }},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for n := int64(1000); b.Loop(); n++ {
				ctx, j := r.Begin(b.Context(), Request{})
				for range 24 {
					_, s := Start(ctx, steps.StoreGet, "key")
					test.why(s, n)
					s.End(nil)
				}
				j.Finish(Response{})
			}
		})
	}
}
