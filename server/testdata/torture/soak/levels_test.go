//go:build linux

package soak

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestTrend has levels of which it is known whether they grow.
func TestTrend(t *testing.T) {
	const quarter = 30 * time.Minute
	noise := rand.New(rand.NewPCG(1, 1))
	for name, c := range map[string]struct {
		at     func(hours float64) float64
		hourly float64
		grows  bool
	}{
		"flat":                       {func(float64) float64 { return 100 }, 0, false},
		"noisy":                      {func(float64) float64 { return 100 + 30*noise.NormFloat64() }, 0, false},
		"a sawtooth":                 {func(h float64) float64 { return 100 + 20*math.Mod(h*12, 1) }, 0, false},
		"warm after a quarter":       {func(h float64) float64 { return 100 - 90*math.Exp(-h*20) }, 0, false},
		"it falls":                   {func(h float64) float64 { return 100 - 10*h }, -10, false},
		"it grows":                   {func(h float64) float64 { return 100 + 10*h }, 10, true},
		"it grows below a sawtooth":  {func(h float64) float64 { return 100 + 10*h + 20*math.Mod(h*12, 1) }, 10, true},
		"it grows, and that is less": {func(h float64) float64 { return 100 + 0.5*h }, 0.5, false},
	} {
		l := &level{name: name, most: 0.02}
		for at := time.Duration(0); at < 2*time.Hour; at += 5 * time.Second {
			l.add(at, c.at(at.Hours()))
		}
		got := l.trend(quarter, 2*time.Hour)
		if math.Abs(got.hourly-c.hourly) > max(0.1, 2*got.doubt) || l.grows(got) != c.grows {
			t.Errorf("%s: %+v, grows: %t", name, got, l.grows(got))
		}
	}
}
