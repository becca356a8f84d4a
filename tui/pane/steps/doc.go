// Package steps is the pane of one journey's steps: lanes that show how control moved between the layers, and a tree
// of the nested calls with each step's layer, title, subject, duration and reason. The consequences of a write hang
// below the step that wrote.
//
// It owns the cursor and the folding. Filters that follow one another fold into one row, since they are the same for
// every request; a filter that failed unfolds them. Each state has a mark in the text: > the cursor, ! a step that
// ended with an error, ~ a running step, = a step at which the request is held, * a step with an intervention, + a
// folded row, - a row that can be folded, ~N the number of fields that the step changed.
//
// In the lanes, * is a step, | a call that waits for it, +-> a call, <-+ a call back to an upper layer, ··> the
// return from the previous call, and o a consequence of a revision, which has no caller.
package steps
