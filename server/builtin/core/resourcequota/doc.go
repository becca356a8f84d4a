// Package resourcequota is the resource resourcequotas: how much of everything the objects of a namespace may use together.
//
// It owns their validation, columns and status. Admission counts the usage, and refuses an object that would exceed a quota.
package resourcequota
