package trace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/mask"
)

// TestReasons: a step keeps the last reason with its values, however many it has, and the sentence that they make.
func TestReasons(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	ctx, j := begin(t, r)
	for range chunkEntries { // so that reasons lie across the ends of chunks
		_, s := Start(ctx, StoreGet, "key")
		s.Why(NoConflict)
		s.Why(KeyMoved, 9, -7)
		s.End(nil)
		_, s = Start(ctx, StoreGet, "key")
		s.WhyText(CacheNotReady, "Broken {revision}")
		s.End(nil)
		_, s = Start(ctx, StoreGet, "key")
		s.WhyText(DefaultsSet, "a, b", 2)
		s.End(nil)
		_, s = Start(ctx, StoreGet, "key")
		s.Why(KeyWasFree)
		s.End(nil)
		_, s = Start(ctx, StoreGet, "key")
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
	_, s := Start(ctx, StoreGet, "key")
	s.WhyText(DefaultsSet, "hunter2", 1)
	_, own := Start(ctx, StoreGet, "key")
	own.WhyText(CacheNotReady, "Broken")
	steps := j.Record().Steps
	if steps[0].Why != "defaults set, in all 1: (masked)" || steps[0].Values[1].Text != mask.Masked {
		t.Errorf("kept %+v", steps[0])
	}
	if steps[1].Why != "the cache is Broken: went to etcd" {
		t.Errorf("kept %+v", steps[1])
	}
}

// TestReasonsAreBounded: a text is clipped, and what a reason takes is counted.
func TestReasonsAreBounded(t *testing.T) {
	r := NewRecorder("p", Limits{Journeys: 1, Bytes: 1 << 20, JourneyBytes: journeyBytes + stepBytes + 2*maxText, Changes: 8})
	ctx, j := begin(t, r)
	_, s := Start(ctx, StoreGet, "")
	s.WhyText(Allowed, strings.Repeat("a", 2*maxText))
	s.WhyText(Allowed, strings.Repeat("b", 2*maxText))
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

func TestReasonsAreInOrder(t *testing.T) {
	names := map[string]bool{}
	for _, r := range Reasons() {
		if r.String() == "" || names[r.String()] {
			t.Errorf("the reason %q is registered twice, or without a name", r)
		}
		names[r.String()] = true
		texts, known := 0, map[string]bool{}
		for _, v := range r.values() {
			if !v.IsInt {
				texts++
			}
			if v.Name == "" || known[v.Name] {
				t.Errorf("%s: a value has no name, or that of another: %s", r, r.Sentence())
			}
			known[v.Name] = true
		}
		if texts > 1 {
			t.Errorf("%s has %d texts; there is room for one", r, texts)
		}
		for _, rest := range strings.Split(r.Sentence(), "{")[1:] {
			placeholder, _, closed := strings.Cut(rest, "}")
			if _, kind, ok := strings.Cut(placeholder, ":"); !closed || ok && kind != "word" && kind != "quote" {
				t.Errorf("%s: the placeholder {%s is neither a number, a word nor a quote", r, rest)
			}
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
		{"none", func(s *Step, _ int64) { s.Why(NoConflict) }},
		{"one", func(s *Step, n int64) { s.Why(CachedAtRevision, n) }},
		{"three", func(s *Step, n int64) { s.Why(ListedLatest, n, n, n) }},
		{"text", func(s *Step, _ int64) { s.WhyText(CacheNotReady, "Broken") }},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for n := int64(1000); b.Loop(); n++ {
				ctx, j := r.Begin(b.Context(), Request{})
				for range 24 {
					_, s := Start(ctx, StoreGet, "key")
					test.why(s, n)
					s.End(nil)
				}
				j.Finish(Response{})
			}
		})
	}
}
