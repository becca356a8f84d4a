// Package statefulset is the resource statefulsets: pods with names and volumes of their own.
//
// It owns their defaults, validation, columns and subresources. Package core/claim validates the templates of their claims.
// After creation only the template, the counts and the strategies may change.
package statefulset
