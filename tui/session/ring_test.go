package session

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

func puts(journeys ...*v1alpha1.Journey) Batch {
	var b Batch
	for _, j := range journeys {
		b.changes = append(b.changes, change{journey: j})
	}
	return b
}

func TestRingDropsTheOldest(t *testing.T) {
	r := NewRing(3)
	r.Mark("p")
	r.Apply(puts(journey("a"), journey("p"), journey("b")))
	r.Keep("a")
	r.Apply(puts(journey("c")))
	if rows(r) != "a p c" || r.Dropped != 1 {
		t.Errorf("%s, %d dropped", rows(r), r.Dropped)
	}
	r.Keep("")
	r.Apply(puts(journey("d"), journey("e")))
	if rows(r) != "p d e" || r.Dropped != 3 {
		t.Errorf("%s, %d dropped", rows(r), r.Dropped)
	}
	for _, name := range []string{"x", "y", "z"} {
		r.Mark(name)
		r.Apply(puts(journey(name)))
	}
	if rows(r) != "x y z" {
		t.Errorf("where all stay, the oldest goes: %s", rows(r))
	}
	version := r.Version
	r.Apply(Batch{})
	if r.Version == version {
		t.Error("the version is the same")
	}
}

// TestRing compares a ring with a plain list, through many changes.
func TestRing(t *testing.T) {
	const capacity = 50
	rnd := rand.New(rand.NewSource(1))
	for _, filtered := range []bool{false, true} {
		r := NewRing(capacity)
		r.Apply(Batch{Reset: true, filtered: filtered})
		var plain []string
		for i := range 5_000 {
			name := fmt.Sprint(i)
			if rnd.Intn(40) == 0 {
				r.Mark(name)
			}
			r.Apply(puts(journey(name)))
			if plain = append(plain, name); len(plain) > capacity {
				plain = forgetOne(r, plain)
			}
			if victim := plain[rnd.Intn(len(plain))]; filtered && rnd.Intn(3) == 0 {
				r.Apply(Batch{changes: []change{{journey: journey(victim), gone: true}}})
				unmark(r, victim)
				plain = strings.Fields(strings.Replace(" "+strings.Join(plain, " ")+" ", " "+victim+" ", " ", 1))
			}
			if r.Len() != len(plain) {
				t.Fatalf("after %d: %d rows, want %d", i, r.Len(), len(plain))
			}
			for at, want := range plain {
				if r.At(at).Name != want || r.Index(want) != at {
					t.Fatalf("after %d: %s at %d, want %s, which is at %d", i, r.At(at).Name, at, want, r.Index(want))
				}
			}
		}
		if len(r.rows) > 4*capacity+128 {
			t.Errorf("the ring keeps %d places for %d rows", len(r.rows), capacity)
		}
	}
}

// unmark frees the letter of a row that is gone.
func unmark(r *Ring, name string) {
	if r.MarkOf(name) != 0 {
		r.Mark(name)
	}
}

// forgetOne finds which row the ring dropped: it is the oldest that is not marked, so that all before it are.
func forgetOne(r *Ring, plain []string) []string {
	for i, name := range plain {
		if r.Index(name) < 0 {
			unmark(r, name)
			return append(plain[:i:i], plain[i+1:]...)
		}
		if r.MarkOf(name) == 0 {
			break
		}
	}
	return plain
}

// TestInsertWithoutSteps: a row of the list takes no memory for the steps and the sentences of a whole journey.
func TestInsertWithoutSteps(t *testing.T) {
	r := NewRing(3)
	whole := journey("a")
	whole.Status.Steps = []v1alpha1.Step{{ID: "etcd3.get"}}
	whole.Status.Sentences = []v1alpha1.Sentence{{Kind: "key-moved"}}
	r.Insert(whole)
	if s := &r.At(0).Status; len(s.Steps)+len(s.Sentences) > 0 || len(whole.Status.Sentences) != 1 {
		t.Errorf("the row has %+v, and the journey %+v", s, whole.Status)
	}
}
