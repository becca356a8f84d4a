package session

import (
	"fmt"
	"testing"
)

// TestMarks: what is marked stays, however many come, and there is a letter for each until there are no more.
func TestMarks(t *testing.T) {
	r := NewRing(4)
	put := func(from, to int) {
		for i := from; i < to; i++ {
			r.Apply(Batch{changes: []change{{journey: journey(fmt.Sprint(i))}}})
		}
	}
	put(0, 4)
	version := r.Version
	if !r.Mark("1") || r.MarkOf("1") != 'a' || r.Marked('a') != "1" || r.Version == version {
		t.Errorf("1 is marked %q", r.MarkOf("1"))
	}
	if !r.Mark("2") || r.MarkOf("2") != 'b' || !r.Mark("1") || r.MarkOf("1") != 0 || r.Marked('a') != "" {
		t.Errorf("1 is marked %q, 2 %q", r.MarkOf("1"), r.MarkOf("2"))
	}
	put(4, 50)
	if r.Index("2") < 0 || r.Index("3") >= 0 || r.Len() != 4 {
		t.Errorf("2 is at %d, 3 at %d of %d", r.Index("2"), r.Index("3"), r.Len())
	}
	for i := range marksMost - 1 {
		if !r.Mark(fmt.Sprint("m", i)) {
			t.Fatalf("there is no letter for the mark %d", i+2)
		}
	}
	if r.Mark("one more") || !r.Mark("2") || !r.Mark("one more") || r.MarkOf("one more") != 'b' {
		t.Error("letters are given more than once, or not again")
	}
}
