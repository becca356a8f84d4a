// Package v1 converts horizontal pod autoscalers between autoscaling/v1 and autoscaling/v2.
//
// It holds that version's defaults, too. Only autoscaling/v2 is stored. The result of a conversion shares memory with
// its source, so neither may be modified.
//
// The version has fields for the utilization of CPU alone. All other metrics, the behavior and the conditions are JSON
// in annotations. Objects of autoscaling/v2 never have these annotations.
package v1
