// Package align puts the steps of two requests side by side: what both did, what one of them alone did, and where they
// went different ways.
//
// Steps are the same if they have the same ID and were called by the same one, in the same order; what each verb has for
// itself, such as handler.create and handler.update, counts as the same. It is pure, and bounded: of very many steps below
// one, those are paired that come in the same order from the beginning.
package align
