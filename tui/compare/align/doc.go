// Package align puts the steps of two requests side by side: common steps, steps of only one, and steps that differ.
//
// Steps correspond if they have the same ID, and their callers correspond, in the same order. Steps that each verb
// has for itself, such as handler.create and handler.update, correspond too. It is pure, and bounded: below a step
// with very many children, only the common beginning is paired.
package align
