// Package autoscaling declares horizontalpodautoscalers. Version v1 is converted by autoscaling/v1.
package autoscaling
