package capture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// Bounds of a journey in a capture. A journey that a server recorded stays below them: the server gives it at most a
// mebibyte of memory.
const (
	// entriesMost bounds the steps, and the entries of each other list.
	entriesMost = 1 << 14
	// valuesMost bounds the attributes of all steps, and the values of their reasons.
	valuesMost = 1 << 16
	// sentencesMost bounds the kinds of reasons of all journeys, and sentenceMost the bytes of a sentence.
	sentencesMost = 1 << 12
	sentenceMost  = 1 << 10
	// callsMost bounds the depth of calls: through how many other steps a step is called.
	callsMost = 256
	// nestingMost bounds the nesting of an object. Readers indent by it.
	nestingMost = 128
	// tookMost bounds each duration. Sums and products of a few of them fit into an int64.
	tookMost = 366 * 24 * time.Hour
)

// crowdedFrom is the length from which the lists of a line are counted before it is decoded: a step of three bytes
// takes hundreds in memory.
const crowdedFrom = 256 << 10

// entries is the length of a list. JSON may give a list several times: the longest counts, since decoding makes room
// for it even if a shorter one replaces it.
type entries int

// UnmarshalJSON counts the list without decoding its entries.
func (n *entries) UnmarshalJSON(list []byte) error {
	var all []struct{} // of no size
	_ = json.Unmarshal(list, &all)
	*n = max(*n, entries(len(all)))
	return nil
}

// stepValues counts the attributes and the values of reasons in a list of steps; in all lists, if it is given several
// times.
type stepValues int

// UnmarshalJSON adds the values of one list. The caller has bounded its steps.
func (n *stepValues) UnmarshalJSON(list []byte) error {
	var steps []struct {
		Attributes entries
		Reason     struct{ Values entries }
	}
	_ = json.Unmarshal(list, &steps)
	for i := range steps {
		*n += stepValues(steps[i].Attributes + steps[i].Reason.Values)
	}
	return nil
}

// refuseLongLists refuses a line with a list that is too long, without decoding the list. It ignores other errors: the
// caller decodes the line next, and finds them.
func refuseLongLists(line []byte) error {
	if len(line) < crowdedFrom {
		return nil
	}
	var j struct {
		Metadata struct{ OwnerReferences, ManagedFields, Finalizers entries }
		Status   struct{ Held, Touched, Interventions, Effects, Steps, Sentences, Marks, Deliveries entries }
	}
	_ = json.Unmarshal(line, &j)
	s, m := &j.Status, &j.Metadata
	longest := max(s.Steps, s.Sentences, s.Interventions, s.Effects, s.Marks, s.Deliveries, s.Held, s.Touched,
		m.OwnerReferences, m.ManagedFields, m.Finalizers)
	if err := short(int(longest)); err != nil {
		return err
	}
	var values struct{ Status struct{ Steps stepValues } }
	_ = json.Unmarshal(line, &values)
	return refuseManyValues(int(values.Status.Steps))
}

// refuseManyValues refuses a journey with too many values of steps, all together.
func refuseManyValues(values int) error {
	if values > valuesMost {
		return fmt.Errorf("the steps of the journey have %d values: no journey has more than %d", values, valuesMost)
	}
	return nil
}

// short refuses lists that are too long.
func short(lists ...int) error {
	if n := slices.Max(lists); n > entriesMost {
		return fmt.Errorf("a list of the journey has %d entries: no journey has more than %d steps, watch events or effects", n,
			entriesMost)
	}
	return nil
}

// check refuses a journey that no server recorded, so that its readers can add up its times and follow its steps. Some
// things it repairs instead: a step that its caller would follow becomes a first one, objects that are nested too deep
// are taken out and counted as missing, and sentences that are too long are taken out.
func check(j *v1alpha1.Journey) error {
	s := &j.Status
	if err := short(len(s.Steps), len(s.Sentences), len(s.Interventions), len(s.Effects), len(s.Marks), len(s.Deliveries), len(s.Held),
		len(s.Touched), len(j.Labels), len(j.Annotations), len(j.OwnerReferences), len(j.ManagedFields), len(j.Finalizers)); err != nil {
		return err
	}
	s.Sentences = slices.DeleteFunc(s.Sentences, func(said v1alpha1.Sentence) bool {
		return max(len(said.Kind), len(said.English), len(said.Chinese)) > sentenceMost
	})
	if err := checkTimes(s); err != nil {
		return err
	}
	depths, values := make([]int, len(s.Steps)), 0
	for i := range s.Steps {
		step := &s.Steps[i]
		if step.Parent < 0 || int(step.Parent) >= i {
			step.Parent = -1 // a step begins after the one that called it
		} else {
			depths[i] = depths[step.Parent] + 1
		}
		if depths[i] > callsMost {
			return fmt.Errorf("step %d is called through more than %d others", i+1, callsMost)
		}
		if values += len(step.Attributes); step.Reason != nil {
			values += len(step.Reason.Values)
		}
		for _, object := range []**runtime.RawExtension{&step.Before, &step.After} {
			if *object != nil && jsonDepth((*object).Raw) > nestingMost {
				*object = nil
				s.Cut = min(s.Cut, math.MaxInt32-1) + 1
			}
		}
	}
	return refuseManyValues(values)
}

// checkTimes refuses times that no request has: each one alone, and the sum of the steps' times, which readers add up.
func checkTimes(s *v1alpha1.JourneyStatus) error {
	micros := []int64{s.TookMicros, s.HeldMicros}
	sum := time.Duration(0)
	for i := range s.Steps {
		took := time.Duration(s.Steps[i].TookNanos)
		if took > tookMost || sum > math.MaxInt64-tookMost {
			return fmt.Errorf("step %d took %d nanoseconds: %w", i+1, took, errTime)
		}
		sum += max(took, 0)
		micros = append(micros, s.Steps[i].StartMicros)
	}
	for i := range s.Interventions {
		micros = append(micros, s.Interventions[i].StartMicros, s.Interventions[i].TookMicros)
	}
	for i := range s.Marks {
		micros = append(micros, s.Marks[i].AfterMicros)
	}
	for i := range s.Deliveries {
		micros = append(micros, s.Deliveries[i].AfterMicros)
	}
	for i := range s.Effects {
		micros = append(micros, s.Effects[i].AfterMicros)
	}
	for _, n := range micros {
		if most := tookMost.Microseconds(); n > most || n < -most {
			return fmt.Errorf("something took %d microseconds: %w", n, errTime)
		}
	}
	return nil
}

var errTime = errors.New("no request takes longer than a year")

// jsonDepth returns the depth of objects and lists in a JSON document.
func jsonDepth(data []byte) (most int) {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
			skip := bytes.IndexAny(data[i:], `"\`)
			if skip < 0 {
				return most
			}
			i += skip - 1
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}

// Size estimates how many bytes a journey takes in memory, with its metadata: a capture may have any amount of it.
func Size(j *v1alpha1.Journey) int64 {
	s := &j.Status
	size := sizeOf[v1alpha1.Journey]() + int64(len(j.Kind)+len(j.APIVersion)) +
		int64(j.ObjectMeta.Size()) + listOf(j.OwnerReferences) + listOf(j.ManagedFields) + listOf(j.Finalizers) +
		int64(len(j.Labels)+len(j.Annotations))*2*sizeOf[[2]string]() +
		listOf(s.Steps) + listOf(s.Sentences) + listOf(s.Marks) + listOf(s.Deliveries) +
		listOf(s.Effects) + listOf(s.Interventions) + listOf(s.Held) + listOf(s.Touched)
	for i := range s.Steps {
		step := &s.Steps[i]
		size += listOf(step.Attributes)
		if step.Reason != nil {
			size += sizeOf[v1alpha1.Reason]() + listOf(step.Reason.Values)
		}
		for _, object := range []*runtime.RawExtension{step.Before, step.After} {
			if object != nil {
				size += sizeOf[runtime.RawExtension]() + int64(cap(object.Raw))
			}
		}
	}
	for i := range s.Held {
		size += listOf(s.Held[i].Actions)
	}
	j.Texts(func(text string) string {
		size += int64(len(text))
		return text
	})
	return size
}

func listOf[T any](list []T) int64 { return int64(cap(list)) * sizeOf[T]() }

func sizeOf[T any]() int64 { return int64(reflect.TypeFor[T]().Size()) }
