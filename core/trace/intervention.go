package trace

import "time"

// InterventionKind is the kind of an Intervention.
type InterventionKind uint8

const (
	// Traced: a tracepoint was reached.
	Traced InterventionKind = iota
	// Held: the request waited at a step for a command.
	Held
	// Delayed: the request waited for a set time.
	Delayed
	// Edited: the request's object was changed.
	Edited
	// Failed: a step returned an injected error.
	Failed
	// Dropped: the watch was ended.
	Dropped
	numInterventions
)

var interventionNames = [numInterventions]string{"Traced", "Held", "Delayed", "Edited", "Failed", "Dropped"}

func (k InterventionKind) String() string { return interventionNames[k] }

// Intervention is something that a rule or a user did to a request. A journey never loses its interventions, so that an
// injected error is never taken for a real one.
type Intervention struct {
	Kind InterventionKind
	// Step is the index of the step.
	Step int
	// AtEnd says that this was at the end of the step.
	AtEnd bool
	// Rule is the cause, such as fault "slow".
	Rule string
	// By is the user who decided, if any.
	By string
	// Text describes the intervention in a sentence.
	Text string
	// At is when it began, after the beginning of the journey, and Took how long it lasted.
	At, Took time.Duration
}

// maxInterventions bounds the interventions of a journey: a request can be held at every step.
const maxInterventions = 256

// addIntervention records an intervention.
func (j *Journey) addIntervention(i Intervention) {
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

// InterventionSet is a set of kinds of interventions.
type InterventionSet uint8

// Kinds are the elements of the set.
func (t InterventionSet) Kinds() []InterventionKind {
	var kinds []InterventionKind
	for k := range numInterventions {
		if t&(1<<k) != 0 {
			kinds = append(kinds, k)
		}
	}
	return kinds
}
