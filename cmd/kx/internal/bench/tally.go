package bench

import (
	"math"
	"time"
)

// histogram counts durations in steps of 2 %, from a microsecond to days, in constant memory.
type histogram struct {
	// counts[i] is for durations from step^i to step^(i+1) µs. The first and the last also have all beyond them.
	counts [1400]int64
	n      int64
	max    time.Duration
}

const step = 1.02

var logStep = math.Log(step)

func (h *histogram) add(d time.Duration) {
	i := 0
	if us := float64(d) / float64(time.Microsecond); us > 1 {
		i = min(int(math.Log(us)/logStep), len(h.counts)-1)
	}
	h.counts[i]++
	h.n++
	h.max = max(h.max, d)
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.n += other.n
	h.max = max(h.max, other.max)
}

// quantile returns the middle of the step that has the quantile, and at most max. Without durations it is 0.
func (h *histogram) quantile(q float64) time.Duration {
	rank := int64(math.Ceil(q * float64(h.n)))
	seen := int64(0)
	for i, n := range h.counts {
		if seen += n; n > 0 && seen >= rank {
			return min(time.Duration(math.Pow(step, float64(i)+0.5)*float64(time.Microsecond)), h.max)
		}
	}
	return 0
}

// tally collects the results of one operation.
type tally struct {
	took     histogram
	units    int64 // objects or events, if these are counted instead of requests
	failed   int64
	first    error // the first failure
	received int64 // bytes of bodies
}

func (t *tally) merge(other *tally) {
	t.took.merge(&other.took)
	t.units += other.units
	t.failed += other.failed
	t.received += other.received
	if t.first == nil {
		t.first = other.first
	}
}

// count counts a request. A failure has no duration, so that it never looks fast.
func (t *tally) count(took time.Duration, received int64, err error) {
	if err != nil {
		t.failed++
		if t.first == nil {
			t.first = err
		}
		return
	}
	t.took.add(took)
	t.received += received
}

// successes returns the number of units, or of requests if no units were counted.
func (t *tally) successes() int64 {
	if t.units > 0 {
		return t.units
	}
	return t.took.n
}
