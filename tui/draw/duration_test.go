package draw

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-1: "-", 0: "0µs", 412 * time.Microsecond: "412µs", 1234 * time.Microsecond: "1.23ms", 45 * time.Millisecond: "45ms",
		1500 * time.Millisecond: "1.50s", 125 * time.Second: "2m05s", 3*time.Hour + 7*time.Minute: "3h07m",
	} {
		if got := Duration(d); got != want || Width(got) > 7 {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}
