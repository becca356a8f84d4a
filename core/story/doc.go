// Package story tells a journey as sentences, one a step.
//
// What comes in is a journey with its steps. What goes out is a [Story] of [Line]s, in the order in which the steps
// began: what the step does and to what, why it went that way, what went wrong, and how long it took. Screens, commands
// and exports show them.
//
// What a layer did in a row is a [Part] of the story. It opens folded: one sentence for the whole part, with the number
// of its steps and their time, so that a GET has at most twelve sentences.
//
// A [Walk] is the same in a dozen stops, for a picture of the layers: the lines of the steps that crossed a border
// between them, asked etcd or decided, each with the [Box] it is in, what was carried there and what came back.
//
// # Invariants
//
//  1. Every step that the server can take has a sentence.
//  2. A line says only what the journey has: a value that was not recorded is not told.
//  3. Filters that let the request pass fold into one line. A filter at which it ended has its own.
//     A step that decided, failed by itself or holds the request is never folded. Unfolded, each step has its line.
//     Nothing of an installation is folded.
//     Reads of one thing that went the same way, with the same result, are one line with their number.
//  4. A walk uses the sentences of the story, and has none of its own.
//  5. Lines have no control characters. How they are broken and painted is up to who shows them.
package story
