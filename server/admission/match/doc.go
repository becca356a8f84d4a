// Package match has what webhooks and policies share: whether the selectors of their configuration are about a write, its objects in the
// kind that they want, and which of them are asked a second time.
//
// In come the attributes of a write, and how a namespace is read. Out go an answer, or copies of the write's objects.
//
// Invariants: What is given away is a copy. Only [TakeOver] changes an object of the write, and leaves nothing of what it was before.
package match
