// Package v1beta2 converts deployments between apps/v1beta2 and apps/v1.
//
// It holds that version's defaults, too. Only apps/v1 is stored. The result of a conversion shares memory with its
// source, so neither may be modified.
package v1beta2
