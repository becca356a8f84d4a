// Package v1beta1 is deployments as clients of apps/v1beta1 know them.
//
// It owns that version's defaults and its conversions, directly to apps/v1, which deployments are stored in, and back.
// Nothing of it is stored. What comes out of a conversion shares memory with what went in, and neither is modified.
//
// What only this version has, a rollback in the spec, is an annotation in the others.
package v1beta1
