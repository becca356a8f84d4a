// Package steps is the pane of one journey's steps: a tree, as the calls nested, with each step's layer, title, subject,
// duration, and why it went the way it did.
//
// It owns the cursor and what is folded. Filters that follow one another fold into one row, since they are the same for
// every request; a filter that failed unfolds them. What means something has a mark in the text: > the cursor, ! a step
// that ended with an error, ~ one that runs, + what is folded, - what can be, ~N how many fields of the object it changed.
package steps
