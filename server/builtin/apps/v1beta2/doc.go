// Package v1beta2 is deployments as clients of apps/v1beta2 know them.
//
// It owns that version's defaults and its conversions, directly to apps/v1, which deployments are stored in, and back.
// Nothing of it is stored. What comes out of a conversion shares memory with what went in, and neither is modified.
package v1beta2
