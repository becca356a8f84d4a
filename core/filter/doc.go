// Package filter is the one language in which users select journeys.
//
// It owns the grammar, the table of fields ([Fields]) and the meaning of a match. Lists and watches of journeys, the
// screen, the prompt, `kx trace` and the lessons all use [Parse]; breakpoints and faults use [ParseRunning].
// docs/filter.md has the grammar for users.
//
// What comes in is a line that a user typed, and a [Subject] that knows the values of its fields. What goes out is a
// [Filter] that says yes or no, or an [Error] with the column and what was expected there. Callers pass the names of
// steps, layers and reasons as [Vocabulary]: this package knows no step.
//
// # Grammar
//
//	filter  = [ or ] .                        nothing matches everything
//	or      = and { "|" and } .
//	and     = not { [ "&" ] not } .           a space is "and"
//	not     = "!" not | chain .
//	chain   = operand { "->" operand } .      a step, and later ones
//	operand = "(" or ")" | "step(" or ")" | "steps(" or ")" op numbers | term .
//	term    = field op values | text .
//	op      = ":" | "=" | "!=" | "~" | "!~" | ">" | ">=" | "<" | "<=" .
//	values  = value { "," value } .           any of them; after "~" and comparisons exactly one
//	value   = word | quoted .
//	text    = word | quoted .                 found in any field that holds text, or the name of a step's function
//
// A word runs to the next space, "->" or one of & | ( ) " and, in a value, the next comma. Quotes are double, with the
// escapes of Go; a quoted value has no globs. Within step( and steps( and beside "->" stand conditions of one step: a
// word without a field is its ID there, and neither of the three may occur. Beside "->" stand no "!" and no group. So:
//
//	verb:update resource:crontabs code:409
//	code>=500 | (dur>5ms !user:system:*)
//	step(etcd3.* why:"retry") name~"^web-(a|b)$"
//	cacher.get -> etcd.get | steps(etcd.txn)>1
//
// # Meaning
//
//  1. Matching ignores case.
//  2. A field is a word, a text, a number, a duration or a request. ":" compares a word or a number with the whole
//     value, and looks for a text anywhere in it. "=" always compares the whole. "*" matches anything.
//  3. A field with several values matches if one of them does. A field of steps matches if one step has it so. A field
//     without a value matches nothing, so its negation ("!=", "!~" or "!") matches.
//  4. "~" is a regular expression (RE2), found anywhere in the value. Numbers, durations and requests have none.
//  5. A subject that is not [WithSteps] is itself the one step there is, such as the step at which a breakpoint is
//     asked.
//  6. [Filter.String] is the canonical form: parsing it gives the same filter and the same string.
//  7. A name of a closed set exists: a field, a verb, a method, a phase, and what [Vocabulary] has. Otherwise it is an
//     [Unknown].
//  8. Cheap conditions are decided before those that read steps, and these before those that decode objects, in
//     whatever order they are written.
package filter
