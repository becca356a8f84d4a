package trace

import "time"

// InterventionKind is what was done to a request.
type InterventionKind uint8

const (
	// Traced was only looked at.
	Traced InterventionKind = iota
	// Held waited at a step until somebody let it go on.
	Held
	// Delayed waited for a set time.
	Delayed
	// Edited had its object changed.
	Edited
	// Failed was given an error that nothing has caused.
	Failed
	// Dropped is a watch that was ended.
	Dropped
	numInterventions
)

var interventionNames = [numInterventions]string{"Traced", "Held", "Delayed", "Edited", "Failed", "Dropped"}

func (k InterventionKind) String() string { return interventionNames[k] }

// Intervention is something that would not have happened by itself. A journey keeps its interventions as long as it is
// kept, so that what was injected is never taken for what truly happened.
type Intervention struct {
	Kind InterventionKind
	// Step is the index of the step.
	Step int
	// AtEnd says that it happened at the end of the step.
	AtEnd bool
	// Rule is what asked for it, such as fault "slow".
	Rule string
	// By is who decided, if it was somebody.
	By string
	// Text is what was done, in a sentence.
	Text string
	// At is when it began, after the beginning of the journey, and Took how long it lasted.
	At, Took time.Duration
}

// maxInterventions bounds what is said of one journey: a request can be held at every step.
const maxInterventions = 256

// intervened notes what was done to the request.
func (j *Journey) intervened(i Intervention) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if i.Kind != Traced {
		j.touched |= 1 << i.Kind
	}
	i.Text = clip(i.Text)
	if len(j.interventions) == maxInterventions {
		j.cut.Add(1)
		return
	}
	j.interventions = append(j.interventions, i)
}

// Touched is a set of kinds of interventions.
type Touched uint8

// Kinds are those in the set.
func (t Touched) Kinds() []InterventionKind {
	var kinds []InterventionKind
	for k := range numInterventions {
		if t&(1<<k) != 0 {
			kinds = append(kinds, k)
		}
	}
	return kinds
}
