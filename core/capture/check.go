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

// Bounds of a journey in a capture. A journey that a server recorded stays below them: it has at most a mebibyte there.
const (
	// entriesMost bounds the steps, and the entries of each other list.
	entriesMost = 1 << 14
	// valuesMost bounds the attributes of all steps, and the values of their reasons.
	valuesMost = 1 << 16
	// sentencesMost bounds the kinds of reasons of all journeys, and sentenceMost the bytes of a sentence.
	sentencesMost = 1 << 12
	sentenceMost  = 1 << 10
	// callsMost bounds how many steps lead from the first one to the last one that it called.
	callsMost = 256
	// nestingMost bounds the nesting of an object. Readers indent by it.
	nestingMost = 128
	// tookMost bounds each duration. Sums and products of a few of them fit into an int64.
	tookMost = 366 * 24 * time.Hour
)

// crowdedFrom is the length from which a line is counted before it is decoded: a step of three bytes takes hundreds in
// memory.
const crowdedFrom = 256 << 10

// entries is the length of a list. Its entries have no size.
type entries []struct{}

// refuseLongLists refuses a line with a list that is too long, without decoding the list. It leaves other errors to
// whoever decodes the line.
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
	err := short(len(s.Steps), len(s.Sentences), len(s.Interventions), len(s.Effects), len(s.Marks), len(s.Deliveries), len(s.Held),
		len(s.Touched), len(m.OwnerReferences), len(m.ManagedFields), len(m.Finalizers))
	if err != nil {
		return err
	}
	var steps struct {
		Status struct {
			Steps []struct {
				Attributes entries
				Reason     struct{ Values entries }
			}
		}
	}
	_ = json.Unmarshal(line, &steps)
	values := 0
	for i := range steps.Status.Steps {
		values += len(steps.Status.Steps[i].Attributes) + len(steps.Status.Steps[i].Reason.Values)
	}
	return refuseManyValues(values)
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

// check refuses a journey that no server recorded, so that its readers can add up its times and follow its steps. It
// takes out objects that are nested too deep, and counts them as missing, and sentences that are too long.
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

// checkTimes refuses times that can't be, each alone and what readers add up.
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

// Size is about how many bytes a journey takes in memory. Captures of others may have metadata of any size.
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
