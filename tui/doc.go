// Package tui is the terminal program around the screens: it shows one of them at a time, between a header and a
// foot, and gives them what they share.
//
// It is an ordinary API client. It takes the address of a server and keys, and draws on a terminal. kubectl and `kx
// trace`, `kx etcd` and `kx cache` show the same data.
//
// # How it is made
//
// There is one tea.Model, [model]. It knows the current screen and the overlay above it (the palette, help, a menu, a
// question), and routes messages to them. Package screen defines a screen; screens.go lists them. A screen sees the
// program only through screen.Host. Screens are plain structs, and so are their parts:
//
//	capture …  the screens
//	did        what was sent for the user, as commands
//	learn      a lesson, beside the current screen
//	pane/…     the visible parts of a screen, with their cursors
//	layout     the places of panes on a terminal of a size
//	keys       the command of a key in a context
//	session    the requests of the server, live
//	api        the client of all screens
//	prompt     a line of input
//	draw       text that fits; theme, its colours
//
// # Invariants
//
//  1. The server never waits for the screen. A screen collects incoming data; the program drains it at most every 33
//     ms, and only after a change. An idle program runs nothing.
//  2. A frame has exactly the lines and cells of the terminal.
//  3. Slow work is a command with a context. An answer that arrives after the cursor moved on is dropped.
//  4. Nothing else writes to the terminal.
//  5. A panic on any goroutine restores the terminal, writes its stack to a file and prints the file's name.
//  6. esc goes back and never quits. q quits, after asking if something would be lost. ctrl+c quits always.
package tui
