// Package apps declares the resources of the group apps, which keep pods running. Their common code is in
// apps/workload and apps/scale. Packages apps/v1beta1 and apps/v1beta2 convert the versions before v1.
package apps
