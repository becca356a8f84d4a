// Package autoscaling declares horizontalpodautoscalers. Package autoscaling/v1 converts version v1.
package autoscaling
