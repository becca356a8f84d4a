package flow

import (
	"math"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
)

const (
	// lendingTime is the pause between two looks at what levels need.
	lendingTime = 10 * time.Second
	// memory is the part of a level's need that is left at the next look, if it needs nothing any more. It halves in
	// five minutes.
	memory = 0.977
)

// need is the seats that the requests of a level would take if they all ran, since the last look.
type need struct {
	most               int
	average, deviation float64
	// smooth follows a rising need at once, and a falling one slowly.
	smooth float64
	// floor is the number of seats that the level must have now. wanted is at least that.
	floor  int
	wanted float64
}

// look begins the time until the next look.
func (l *level) look() {
	n, seen := &l.need, l.demand.Reset()
	n.most = int(math.Round(seen.Max))
	if seen.Duration > 0 {
		n.average, n.deviation = seen.Average, seen.Deviation
		if math.IsNaN(n.deviation) {
			n.deviation = 0
		}
		usual := n.average + n.deviation
		n.smooth = max(usual, memory*n.smooth+(1-memory)*usual)
	}
	if l.object.Spec.Exempt != nil {
		n.floor = max(l.least, n.most)
	} else {
		n.floor = max(l.least, min(l.nominal, n.most))
	}
	n.wanted = max(float64(n.floor), n.smooth)
}

// shares returns the shares of a level, and the parts in percent that it lends and borrows: nil for no limit.
func (l *level) shares() (shares, lends int32, borrows *int32) {
	of := func(p *int32) int32 {
		if p == nil {
			return 0
		}
		return *p
	}
	if exempt := l.object.Spec.Exempt; exempt != nil {
		return of(exempt.NominalConcurrencyShares), of(exempt.LendablePercent), nil
	}
	limited := l.object.Spec.Limited
	return of(limited.NominalConcurrencyShares), of(limited.LendablePercent), limited.BorrowingLimitPercent
}

// share divides the server's seats among the levels by their shares. The caller holds mu.
func (c *Control) share() {
	sum, waiting := 0.0, 0
	for _, l := range c.levels {
		shares, _, _ := l.shares()
		sum += float64(shares)
		waiting += max(l.queuing.DesiredNumQueues, 0) * l.queuing.QueueLengthLimit
	}
	c.nominal = 0
	for name, l := range c.levels {
		shares, lends, borrows := l.shares()
		l.nominal = int(math.Ceil(float64(c.seats) * float64(shares) / max(sum, 1)))
		l.least = l.nominal - percent(l.nominal, lends)
		l.most = l.nominal + c.seats
		if borrows != nil {
			l.most = l.nominal + percent(l.nominal, *borrows)
		}
		if l.set == nil {
			l.current = l.nominal - (l.nominal-l.least)/2
		}
		c.nominal += l.nominal
		metrics.SetPriorityLevelConfiguration(name, l.nominal, l.least, l.most)
	}
	metrics.GetWaitingReadonlyConcurrency().SetDenominator(float64(waiting))
	metrics.GetWaitingMutatingConcurrency().SetDenominator(float64(waiting))
	metrics.GetExecutingReadonlyConcurrency().SetDenominator(float64(c.nominal))
	metrics.GetExecutingMutatingConcurrency().SetDenominator(float64(c.nominal))
}

func percent(of int, part int32) int { return int(math.Round(float64(of) * float64(part) / 100)) }

// lend gives seats that a level does not need to levels that need more. What exempt requests take is lent first. The
// caller holds mu.
func (c *Control) lend() {
	var limited []*level
	left, least, floor := c.nominal, 0, 0
	for _, l := range c.levels {
		l.look()
		if l.object.Spec.Exempt != nil {
			l.current = l.need.floor
			left -= l.current
			continue
		}
		limited = append(limited, l)
		least += l.least
		floor += l.need.floor
	}
	factor, fits := 0.0, true
	switch {
	case left <= least:
		for _, l := range limited {
			l.current = l.least
		}
	case left <= floor:
		part := float64(left-least) / float64(floor-least)
		for _, l := range limited {
			l.current = l.least + int(math.Round(float64(l.need.floor-l.least)*part))
		}
	default:
		// The sum has the seats of exempt requests in it, as on a Kubernetes API server.
		if factor, fits = fairness(limited, float64(c.nominal)); !fits {
			break // each level keeps what it has
		}
		for _, l := range limited {
			l.current = int(math.Round(l.fair(factor)))
		}
	}
	metrics.SetFairFrac(factor)
	for _, l := range c.levels {
		c.apply(l)
	}
}

// apply gives a level its current seats, and reports them.
func (c *Control) apply(l *level) {
	denominator := l.current
	if denominator <= 0 {
		denominator = max(1, int(math.Round(float64(c.seats)/10)))
	}
	l.ratio.SetDenominator(float64(denominator))
	n := &l.need
	metrics.NotePriorityLevelConcurrencyAdjustment(l.name, float64(n.most), n.average, n.deviation, n.smooth, n.wanted, l.current)
	if err := l.limit(c.sets, denominator); err != nil { // its queues were checked before
		c.log.Error("a priority level keeps the seats that it had", "name", l.name, "error", err)
	}
}

// leastWanted is assumed for a level that wants less, because some multiple of it must be any number of seats.
const leastWanted = 0.001

// fair returns the seats of a level that gets so many times what it wants, within its bounds.
func (l *level) fair(factor float64) float64 {
	return min(max(factor*max(l.need.wanted, leastWanted), float64(l.need.floor)), float64(l.most))
}

// fairness returns the factor with which the fair seats of levels add up to sum, false if there is none.
//
// The sum grows with the factor. At some factors, the bends, a level leaves its lower bound or meets its upper one.
// Between two bends the sum is the seats of the levels at their bounds, and the factor times what the others want.
func fairness(levels []*level, sum float64) (factor float64, ok bool) {
	const tiny = 1e-7
	var bends []float64
	for _, l := range levels {
		wanted := max(l.need.wanted, leastWanted)
		bends = append(bends, float64(l.need.floor)/wanted, float64(l.most)/wanted)
	}
	slices.Sort(bends)
	for i, bend := range bends {
		total, bound, free := 0.0, 0.0, 0.0
		for _, l := range levels {
			wanted := max(l.need.wanted, leastWanted)
			total += l.fair(bend)
			switch {
			case i == 0:
			case float64(l.need.floor)/wanted >= bend:
				bound += float64(l.need.floor)
			case float64(l.most)/wanted <= bends[i-1]:
				bound += float64(l.most)
			default:
				free += wanted
			}
		}
		switch {
		case i == 0 && total > sum+tiny:
			return 0, false
		case total < sum-tiny:
			continue
		case free == 0:
			return bend, true
		}
		return (sum - bound) / free, true
	}
	return 0, false
}
