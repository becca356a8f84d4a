// Package resourcequota is the resource resourcequotas: how much of everything the objects of a namespace may use together.
//
// It owns their validation, columns and status. Admission counts what is used, and refuses what would be too much.
package resourcequota
