// Package apps declares the resources of the group apps, which keep pods running. Their common code is in apps/workload
// and apps/scale. The files v1beta1_*.go and v1beta2_*.go convert deployments of the versions before v1, with their
// defaults. Only v1 is stored. The result of a conversion shares memory with its source, so neither may be modified.
package apps
