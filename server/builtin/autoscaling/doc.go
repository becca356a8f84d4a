// Package autoscaling declares horizontalpodautoscalers. The files v1_*.go convert version v1, with its defaults. Only
// v2 is stored. The result of a conversion shares memory with its source, so neither may be modified.
//
// Version v1 has fields for the utilization of CPU alone. All other metrics, the behavior and the conditions are JSON
// in annotations. Objects of v2 never have these annotations.
package autoscaling
