package draw

import (
	"fmt"
	"testing"
)

func TestShare(t *testing.T) {
	for _, test := range []struct {
		room  int
		needs []int
		want  string
	}{
		{100, []int{20, 30}, "[20 30]"},
		{50, []int{20, 40}, "[20 30]"},
		{50, []int{40, 20}, "[30 20]"},
		{50, []int{40, 40}, "[25 25]"},
		{51, []int{40, 40}, "[25 26]"},
		{9, []int{40, 2, 40}, "[3 2 4]"},
		{1, []int{5, 5}, "[0 1]"},
		{-4, []int{5, 0, -1}, "[0 0 0]"},
		{10, nil, "[]"},
	} {
		if got := fmt.Sprint(Share(test.room, test.needs...)); got != test.want {
			t.Errorf("%d for %v: %s, want %s", test.room, test.needs, got, test.want)
		}
	}
}

func TestFitting(t *testing.T) {
	parts := []Part{{"who ", 9}, {"when ", 2}, {"", 0}, {"what ", 5}, {"where", 2}}
	for w, want := range map[int]string{100: "who when what where", 19: "who when what where", 18: "who when what ", 13: "who what ", 8: "who ", 1: "", -1: ""} {
		if got := JoinFitting(w, parts...); got != want {
			t.Errorf("in %d: %q, want %q", w, got, want)
		}
	}
}
