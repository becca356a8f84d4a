// Package exchange sends one request and takes what comes back: at once ([Do]), or in the background for a screen
// ([Exchange]). It can have the request held at its first step.
//
// What comes in is a request as it goes over the wire. What goes out is the answer: status, headers, the body up to a
// limit, the events of a watch, and the name of the request's journey.
//
// # A held request
//
//  1. A breakpoint is made for the audit ID that the request is about to carry, so that it holds this request alone, once.
//  2. The journeys of that audit ID are watched, since the answer, which would name the journey, does not come.
//  3. The request is sent. When its journey says that it is held, the caller is told.
//  4. The breakpoint is deleted when the answer is there, or when nobody wants it any more: that lets the request go. If
//     this process dies instead, the breakpoint's lease ends, since nobody watches it any more.
package exchange
