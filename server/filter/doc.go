// Package filter is the chain that every request passes before its handler.
//
// It owns the filters and their order, one table ([Chain]). In comes a request from the socket. Each filter passes it
// on beside a context, to which it adds what it found out: request info, deadline, user. The handler gets a copy of the
// request with that context. A filter that refuses a request answers it with a metav1.Status.
//
// A filter's step ends before the next filter begins. So a journey shows the filters one after the other, not nested.
//
// Invariants: no request crashes the process. Every request behind authentication has a user, and every request behind
// authorization is allowed. A request that is counted in is counted out again.
package filter
