// Package filter is the one language in which people say which journeys they want to see.
//
// It owns the grammar, the table of fields ([Fields]) and the meaning of a match. The server's journeys list and watch,
// the screen, the prompt, `kx trace` and the lessons all read it through [Parse]; none of them knows a field by itself.
//
// What comes in: a line that somebody typed, and a [Subject] that answers what its fields hold. What goes out: a
// [Filter] that says yes or no, or an [Error] that knows the column and what was expected there.
//
// # Grammar
//
//	filter  = [ or ] .                        nothing matches everything
//	or      = and { "|" and } .
//	and     = not { [ "&" ] not } .           a space is "and"
//	not     = "!" not | "(" or ")" | term .
//	term    = field op values | text .
//	op      = ":" | "=" | "!=" | "~" | "!~" | ">" | ">=" | "<" | "<=" .
//	values  = value { "," value } .           any of them; after "~" and comparisons exactly one
//	value   = word | quoted .
//	text    = word | quoted .                 found in any field that holds text
//
// A word runs to the next space or one of & | ( ) " and, in a value, the next comma. Quotes are double, with the escapes
// of Go; a quoted value has no globs. So:
//
//	verb:update resource:crontabs code:409
//	code>=500 | (dur>5ms !user:system:*)
//	step:etcd3.* why:"retry" name~"^web-(a|b)$"
//
// # Meaning
//
//  1. Letters match whatever their case.
//  2. A field holds a word, a text, a number or a duration. ":" asks whether a word is the value, whether a text
//     contains it, whether a number equals it. "=" always asks for the whole. "*" stands for anything.
//  3. A field with several values, such as step, matches if one of them does. A field without a value matches nothing,
//     so its negation ("!=", "!~" or "!") matches.
//  4. "~" is a regular expression (RE2), found anywhere in the value. Numbers and durations have none.
//  5. [Filter.String] is the canonical form: parsing it gives the same filter and the same string.
package filter
