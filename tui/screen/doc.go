// Package screen defines a screen, and the services that the program around it offers.
//
// There are the numbered screens, each in a package of its own (tui/capture, tui/send, tui/etcd, tui/cache,
// tui/structure), and those that open above whatever is there (a source file, the breakpoints). All of them are a
// [Screen]. The program around them, package tui, has the terminal, the header, the line of hints, help and the
// palette; it routes keys and draws the lines of the current screen. A screen knows no other: it names a [Target],
// and the program finds the screen that it leads to.
//
// A screen embeds a [Split] for the behaviour that all screens share: panes, focus, zoom, borders, the mouse, the
// typed line, and the way back. It adds the contents of its panes and its commands.
//
// # Invariants
//
//  1. All methods of a Screen, and all of a Host but Changed, are called on one goroutine: Bubble Tea's.
//  2. A Screen does no I/O in them. Slow work goes to [Do], which calls back with the answer, even if another screen
//     is current by then.
//  3. Render gives exactly the lines and cells of the last SetSize, and every text in them is clean ([draw.Clean]).
//  4. Data that arrives unrequested (a watch) goes into a bounded buffer of the screen's own goroutine, which calls
//     Host.Changed. The screen takes it in Drain, at most every 33 ms, even while another screen is current.
package screen
