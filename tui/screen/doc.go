// Package screen says what a screen is, and what it may ask of the program around it.
//
// There are the numbered screens, each in a package of its own (tui/capture, tui/send, tui/etcd, tui/cache,
// tui/structure), and those that open above whatever is there (a source file, the breakpoints). All of them are a
// [Screen]. The program around them, package tui, has the terminal, the header, the line of hints, help and the palette;
// it routes keys and asks the screen that is seen for its lines. A screen knows no other: it names a [Target], and the
// program finds the screen that it leads to.
//
// What all screens do alike is a [Split], which a screen embeds: its panes, which has the focus or the place of all, their
// borders, the mouse, the line that is typed into, and the way back. A screen adds what its panes show and its commands.
//
// # Invariants
//
//  1. All methods of a Screen, and all of a Host but Changed, are called on one goroutine: Bubble Tea's.
//  2. A Screen does no I/O in them. What takes time goes to [Do], which calls back with the answer, also when another screen
//     is seen by then.
//  3. Render gives exactly the lines and cells of the last SetSize, and every text in them is clean ([draw.Clean]).
//  4. What arrives by itself (a watch) is kept by the screen's own goroutine in a bounded place; it calls Host.Changed, and
//     the screen takes it in Drain, at most every 33 ms, also when another screen is seen.
package screen
