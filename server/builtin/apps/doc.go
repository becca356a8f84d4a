// Package apps declares the resources of apps: what keeps pods running. What they share is in apps/workload and
// apps/scale; the versions before v1 are converted by apps/v1beta1 and apps/v1beta2.
package apps
