// Package coverage reports how the expressions of definitions and policies evaluated, to a program that runs a server
// in its process.
//
// In comes each evaluation for a request, with its request's context. Out goes one call of an [Observer] for it.
//
// # Invariants
//
//  1. What is reported ran: an expression that was skipped, not reached or only compiled is not.
//  2. A server without an observer does no work for it, but for one comparison with nil for each evaluation.
package coverage

import (
	"context"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Expression names an expression by its place.
type Expression struct {
	// Kind and Name are those of the object that has it: a definition or a policy.
	Kind, Name string
	// Path is its field there, such as "spec.validations[0].expression". Names of properties are in brackets:
	// "spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule".
	Path string
}

// Outcome is the result of one evaluation.
type Outcome int

// The outcomes. Value is a result that is no boolean.
const (
	True Outcome = iota
	False
	Error
	Value
)

// Observer is called after each evaluation, on the goroutine of the request.
type Observer func(context.Context, Expression, Outcome)

// OutcomeOf returns the outcome of an evaluation.
func OutcomeOf(v ref.Val, err error) Outcome {
	switch {
	case err != nil || v != nil && types.IsError(v):
		return Error
	case v == types.True:
		return True
	case v == types.False:
		return False
	}
	return Value
}
