// Package tui is the terminal program around the screens: it shows one of them at a time, between a header and a foot, and
// gives them what they share.
//
// It is a client like any other: what comes in is the address of a server and keys, what goes out is a terminal. What it
// shows can be had with kubectl and `kx trace`, `kx etcd` and `kx cache` too.
//
// # How it is made
//
// There is one tea.Model, [model]. It knows which screen is seen and whether something of its own is open above it (the
// palette, help, a menu, a question), and routes. The screens (package screen says what one is, screens.go which there are) know
// of it only what screen.Host says. They are plain structs; so is what they are made of:
//
//	capture …  the screens
//	learn      a lesson, beside the screen that is seen
//	pane/…     what is seen of a screen, and its cursor
//	layout     where things go on a terminal of a size
//	keys       which command a key is, in which context
//	session    what the server says of requests, live
//	api        the client of all screens
//	prompt     a line that is typed into
//	draw       text that fits; theme, its colours
//
// # Invariants
//
//  1. The server never waits for the screen. What a screen hears it collects; it is drained at most every 33 ms, and only
//     if something happened. Nothing runs while nothing happens.
//  2. A frame has exactly the lines and cells of the terminal.
//  3. What takes time is a command with a context. An answer that comes after the cursor moved on is dropped.
//  4. Nothing else writes to the terminal.
//  5. A panic, wherever it is, leaves the terminal as it was and its stack in a file that is named.
//  6. esc goes back and never quits. q quits, after asking if something would be lost. ctrl+c quits always.
package tui
