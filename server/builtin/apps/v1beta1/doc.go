// Package v1beta1 converts deployments between apps/v1beta1 and apps/v1.
//
// It owns that version's defaults and its direct conversions to and from apps/v1. The storage holds apps/v1 alone. The
// result of a conversion shares memory with its source, so neither may be modified.
//
// Only this version has a rollback in the spec. The others have an annotation instead.
package v1beta1
