// Package claim holds defaults, validation and warnings for the spec of a persistent volume claim. Claims use it, and
// so do the templates from which claims are made for pods and stateful sets.
package claim
