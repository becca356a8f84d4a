// Package exchange sends one request and receives its answer: at once ([Do]), or in the background for a screen
// ([Exchange]). It can have the request held at its first step.
//
// It takes a request in its wire form. It returns the answer: status, headers, the body up to a limit, the events of
// a watch, and the name of the request's journey.
//
// What a form needs to know of the server comes from [Resources], [Schemas] and [ObjectNames]. Their requests leave no
// journeys: they would only distract users who watch the server's requests.
//
// # A held request
//
//  1. Do makes a breakpoint for the audit ID of the request to come, so that it holds only this request, once.
//  2. It watches the journeys of that audit ID, because a held request has no answer that would name its journey.
//  3. It sends the request. When the journey is held, it calls OnHeld.
//  4. It deletes the breakpoint when the answer has come or the caller gives up: that releases the request. If this
//     process dies instead, the breakpoint's lease ends for want of a watch.
package exchange
