package schema

import "github.com/kx-apiserver/kx/core/trace"

// Reasons lists why the steps of this package went the way they did.
func Reasons() []trace.Reason {
	return []trace.Reason{
		allFieldsKnown, allFieldsPreserved, defaultsSet, noDefaultNeeded, noDefaults, nullsDropped, ruleAfterLimit,
		ruleEmpty, ruleFailed, ruleForgiven, ruleHeld, ruleWithoutOldValue, ruleWithoutValue, rulesEvaluated,
		rulesKeptBack, schemaWithoutRules, unknownAndNullsDropped, unknownFieldsDropped,
	}
}
