// Package rules is the screen Breakpoints, which opens above others: it lists the server's breakpoints, tracepoints
// and faults with their counts, and the held requests.
//
// It draws the View of a [control.Control], and passes the user's commands to it. The screen owns only its two
// cursors: rules come from the server, or are rules of the user that are off.
package rules
