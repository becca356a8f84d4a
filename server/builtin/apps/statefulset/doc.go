// Package statefulset is the resource statefulsets: pods with names and volumes of their own.
//
// It owns their defaults, validation, columns and subresources. The templates of their claims are validated by core/claim.
// After creation only the template, the counts and the strategies may change.
package statefulset
