// Package match holds the common parts of webhooks and policies: matching selectors, converting a write's
// objects to the wanted kind, and choosing the hooks of the second round.
//
// In come the attributes of a write, and a function that reads a namespace. Out go an answer, or copies of the
// write's objects.
//
// Invariants: Results are copies. Only [TakeOver] changes an object of the write, and it leaves nothing of the
// old content.
package match
