// Package filter is the chain that every request passes before its handler.
//
// It owns the order of the filters, as one table ([Chain]), and each filter. What comes in is a request from the
// socket; what goes on to the handler is the same request with, in its context, the request info, a deadline, the user,
// and the journey in which its steps are recorded. What a filter refuses it answers itself, with a metav1.Status.
//
// A filter's step ends before the next filter begins, so that a journey shows them side by side and not one in another.
//
// Invariants: no request crashes the process; whoever gets past authentication has a user, and whoever gets past
// authorization may do what they ask; a request that is counted as under way is counted out again.
package filter
