package admission

import (
	"fmt"
	"testing"
	"time"
)

// TestLooks: what one creation found is good for others, for a moment, if they come while it looks.
func TestLooks(t *testing.T) {
	var l looks
	now := time.Now()
	look := func(name string, at time.Time, want bool) {
		t.Helper()
		if got := l.begin(name, at); got != want {
			t.Errorf("%s after %s: needs a look: %v, want %v", name, at.Sub(now), got, want)
		}
	}
	look("a", now, true)
	l.end("a", now, true)
	look("a", now, true) // nobody came meanwhile
	look("a", now, true)
	l.end("a", now, true)
	look("a", now.Add(lookFor-1), false)
	look("b", now, true)
	look("a", now.Add(lookFor), true)
	l.end("a", now.Add(lookFor), false)
	look("a", now, true) // it went wrong
	for i := range mostLooks + 10 {
		name := fmt.Sprint(i)
		look(name, now, true)
		l.end(name, now, true)
	}
	if len(l.good) > mostLooks {
		t.Errorf("%d looks are remembered", len(l.good))
	}
	for range 3 {
		l.end("a", now, true)
	}
	if l.under != 0 {
		t.Errorf("%d looks are under way", l.under)
	}
}
