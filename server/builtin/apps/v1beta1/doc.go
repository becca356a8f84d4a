// Package v1beta1 converts deployments between apps/v1beta1 and apps/v1.
//
// It holds that version's defaults, too. Only apps/v1 is stored. The result of a conversion shares memory with its
// source, so neither may be modified.
//
// Only this version has a rollback in the spec. The others have an annotation instead.
package v1beta1
