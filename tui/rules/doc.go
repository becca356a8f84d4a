// Package rules is the screen Breakpoints, which opens above others: the breakpoints, tracepoints and faults of the server,
// how often each was met, and the requests that are held.
//
// What comes in is the View of a [control.Control]; what goes out are the user's wishes to it. The screen owns its two
// cursors and nothing else: a rule is what the server says it is, or one of the user's own that is off.
package rules
