// Package claim has the defaults, the validation and the warnings of what a claim asks for: of persistent volume
// claims, and of the templates from which pods and stateful sets make them.
package claim
