package workload

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Replicas holds the counts in the status of a replica set or a replication controller.
type Replicas struct {
	Replicas, FullyLabeled, Ready, Available int32
	ObservedGeneration                       int64
	Terminating                              *int32
}

// ValidateReplicas requires counts of 0 or more. The count of a subset of pods may not exceed the count of the whole
// set.
func ValidateReplicas(r Replicas) field.ErrorList {
	parts := []struct {
		name  string
		value int32
	}{{"fullyLabeledReplicas", r.FullyLabeled}, {"readyReplicas", r.Ready}, {"availableReplicas", r.Available}}
	counts := []Count{{Name: "replicas", Value: int64(r.Replicas)}}
	for _, p := range parts {
		counts = append(counts, Count{Name: p.name, Value: int64(p.value)})
	}
	counts = append(counts, Count{Name: "observedGeneration", Value: r.ObservedGeneration})
	if r.Terminating != nil {
		counts = append(counts, Count{Name: "terminatingReplicas", Value: int64(*r.Terminating)})
	}
	errs := ValidateCounts(counts)
	status := field.NewPath("status")
	for _, p := range parts {
		if p.value > r.Replicas {
			errs = append(errs, field.Invalid(status.Child(p.name), p.value, "cannot be greater than status.replicas"))
		}
	}
	if r.Available > r.Ready {
		errs = append(errs, field.Invalid(status.Child("availableReplicas"), r.Available, "cannot be greater than readyReplicas"))
	}
	return errs
}
