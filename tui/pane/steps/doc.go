// Package steps is the pane of one journey's steps: lanes that show into which layer control went and how it came back,
// and a tree, as the calls nested, with each step's layer, title, subject, duration, and why it went the way it did. What
// a write caused hangs below the step that wrote.
//
// It owns the cursor and what is folded. Filters that follow one another fold into one row, since they are the same for
// every request; a filter that failed unfolds them. What means something has a mark in the text: > the cursor, ! a step
// that ended with an error, ~ one that runs, = one at which the request is held, * one that something was done to, + what
// is folded, - what can be, ~N how many fields of the object it changed.
//
// In the lanes, * is a step, | a call that waits for it, +-> a call, <-+ one that climbs back up, ··> where control came
// back from what was called before, and o what a revision caused: nobody called it.
package steps
