package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/anishathalye/porcupine"
)

// Act is what a client does to a life.
type Act int

// A life is one object from its creation to its end; the next one of the same name is another. Hold gives it a finalizer, Release takes
// it away. End demands a life, or none: a deletion by UID. EndAll deletes all that are there, without a demand.
const (
	Look Act = iota
	Begin
	Hold
	Release
	End
	EndAll
)

func (a Act) String() string {
	return [...]string{"look", "begin", "hold", "release", "end", "end all"}[a]
}

// Life is what is at a key: which life, whether it has a finalizer, and whether it is to end. No value: nothing.
type Life struct {
	Value        string
	Held, Doomed bool
}

// Deed is one request about the life at one key.
type Deed struct {
	Client int
	Key    string
	Act    Act
	// Life is what was seen, made, or met. End has the life that it demands, if any.
	Life
	Outcome Outcome
	// Call and Return are nanoseconds since the round's begin.
	Call, Return int64
}

func (d *Deed) String() string {
	return fmt.Sprintf("client %d: %s %s %+v: %s", d.Client, d.Act, d.Key, d.Life, d.Outcome)
}

// lifeModel is that of a key. Nothing ends while it has a finalizer, nothing that is to end goes on, and only the life that was meant
// ends.
var lifeModel = porcupine.Model{
	Init:              func() any { return Life{} },
	Step:              func(state, input, _ any) (bool, any) { return input.(*Deed).step(state.(Life)) },
	DescribeOperation: func(input, _ any) string { return input.(*Deed).String() },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}

// step says whether the deed can have had its outcome, and what is there afterwards. An unknown one that did nothing stands behind all
// others.
func (d *Deed) step(was Life) (bool, Life) {
	there := was.Value != ""
	matches := there && (d.Act != End || d.Value == "" || d.Value == was.Value)
	switch d.Outcome {
	case NotFound:
		return !there, was
	case Exists:
		return there, was
	case Conflict:
		// Without a demand others were too fast, too often.
		return there && (d.Act != End || d.Value == "" || !matches), was
	case Unknown:
		if d.Act == Begin && there || d.Act != Begin && !matches {
			return true, was
		}
	}
	switch d.Act {
	case Look:
		return was == d.Life, was
	case Begin:
		return !there, Life{Value: d.Value, Held: d.Held}
	case Hold:
		return d.found(was) && there, Life{was.Value, true, was.Doomed}
	case Release:
		if d.Doomed && d.Value != was.Value {
			return true, was // another one ended that life a moment before, and it is told of its last state
		}
		if was.Doomed {
			return d.found(was) && there, Life{}
		}
		return d.found(was) && there, Life{Value: was.Value}
	default:
		if was.Held {
			return matches, Life{was.Value, true, true}
		}
		return matches || d.Act == EndAll, Life{}
	}
}

// found is whether a deed can have met a life, as far as its answer says.
func (d *Deed) found(was Life) bool {
	return d.Outcome == Unknown || d.Value == was.Value && d.Doomed == was.Doomed
}

func (d *Deed) effective() bool { return d.Act != Look && (d.Outcome == OK || d.Outcome == Unknown) }

// lives asks porcupine about the deeds.
func lives(h *History) []string {
	begun := map[string]bool{}
	for _, c := range h.Log {
		begun[c.Key+" "+c.Value] = true
	}
	byKey := map[string][]porcupine.Operation{}
	for i := range h.Deeds {
		d := &h.Deeds[i]
		end := d.Return
		switch {
		case d.Outcome == Refused, d.Outcome == Unknown && (d.Act == Look || d.Act == Begin && !begun[d.Key+" "+d.Value]):
			continue
		case d.Outcome == Unknown:
			end = math.MaxInt64
		}
		byKey[d.Key] = append(byKey[d.Key], porcupine.Operation{ClientId: d.Client, Input: d, Call: d.Call, Return: end})
	}
	return inOneOrder(lifeModel, byKey)
}

// deed alters one of the deeds that fit.
func deed(fits func(*History, *Deed) bool, alter func(*Deed)) func(*History, *rand.Rand) bool {
	return one(func(h *History) []Deed { return h.Deeds }, fits, func(_ *History, d *Deed) { alter(d) })
}

// seen is whether somebody saw of an object, and knew it before a deed began or after it was done.
func (h *History) seen(d *Deed, before bool, what func(Life) bool) bool {
	return slices.ContainsFunc(h.Deeds, func(other Deed) bool {
		return other.Key == d.Key && other.Act == Look && other.Outcome == OK && what(other.Life) &&
			(before && other.Return < d.Call || !before && other.Call > d.Return)
	})
}

func looked(d *Deed) bool { return d.Act == Look && d.Outcome == OK }

var lifeMutations = []Mutation{
	{"what is to end goes on", "lives", deed(func(h *History, d *Deed) bool {
		return looked(d) && d.Doomed && h.seen(d, true, func(l Life) bool { return l == d.Life })
	}, func(d *Deed) { d.Doomed = false })},
	{"what has a finalizer ends", "lives", deed(func(h *History, d *Deed) bool {
		same := func(l Life) bool { return l.Value == d.Value }
		return looked(d) && d.Held && h.seen(d, true, same) && h.seen(d, false, same)
	}, func(d *Deed) { d.Outcome, d.Life = NotFound, Life{} })},
	{"another life is ended than was meant", "lives", deed(func(_ *History, d *Deed) bool {
		return d.Act == End && d.Outcome == OK
	}, func(d *Deed) { d.Value = "red-0-0" })},
	{"a finalizer is not seen", "lives", deed(func(h *History, d *Deed) bool {
		return looked(d) && d.Doomed
	}, func(d *Deed) { d.Held = false })},
}
