// Package again makes requests of recorded ones: the same request, and the ways that it could have gone instead.
//
// It takes a journey. It produces targets for the screen Send, and [Variant]s, which [Variant.Send] sends.
//
// Invariant: no variant changes an object of kx. A read stays a read, and a write becomes a dry run. An aggregated
// server has to heed that by itself.
package again
