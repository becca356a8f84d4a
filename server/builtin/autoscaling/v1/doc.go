// Package v1 is horizontal pod autoscalers as clients of autoscaling/v1 know them.
//
// It owns that version's defaults and its conversions, directly to autoscaling/v2, which autoscalers are stored in, and back.
// Nothing of it is stored. What comes out of a conversion shares memory with what went in, and neither is modified.
//
// The version has fields for the utilization of CPUs alone. All other metrics, the behavior and the conditions are JSON in
// annotations, which the others never have.
package v1
