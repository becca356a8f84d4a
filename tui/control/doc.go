// Package control manages breakpoints, faults and held requests for the screens.
//
// It owns a copy of the server's breakpoints, faults and held requests, kept current by watches, and the user's own
// rules: those made here, switched on or off. It takes the server's answers and the user's commands. It sends
// requests to the server, and returns a [View] whenever a screen draws. It does not depend on screens.
//
// # Invariants
//
//  1. A View holds only data of the server, except for rules that are off, which are marked as such. The definitions of
//     the user's own rules are as the user wrote them, without the lease.
//  2. The user's breakpoints have a lease, which this program renews by watching. When the program is gone, they
//     expire, and held requests continue.
//  3. Control reconnects to a server that went away. A rule that the server lost is off and not recreated: only the
//     user switches a rule on. One exception: at its start, the program switches on the breakpoints that were on when
//     it ended. Faults stay off.
//  4. Methods that send requests take a context and may block; View does not. Close takes none: it bounds its wait.
package control
