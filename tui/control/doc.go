// Package control is what the screens know and do about requests that are interfered with: breakpoints, faults, and the
// requests that are held.
//
// It owns a copy of the server's breakpoints, faults and held requests, which it keeps as they are by watching them, and the
// user's own rules: those that he made here, switched on or off. What comes in are the server's answers and what the user
// wants; what goes out are requests to the server, and a [View] whenever a screen draws. It knows nothing of screens.
//
// # Invariants
//
//  1. Nothing is shown that the server did not say, but for rules that are off, which are said to be.
//  2. The user's breakpoints have a lease: while they are watched here they stay. When this program is gone, so are they,
//     and what they hold goes on.
//  3. A server that goes away is looked for again, and what it no longer has is off, not made anew: only the user
//     switches a rule on. Those that were on when the program was left are, once, when it begins again, if they hold
//     nothing up for ever: faults stay off.
//  4. Whatever asks the server takes a context and may take its time; a View takes none.
package control
