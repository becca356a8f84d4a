// Package atinit controls the time before main, in which hundreds of packages are initialised. Go initialises a
// package as soon as its imports are initialised, in the order of paths. This package imports only the standard
// library, so it is among the first.
//
// First, it keeps commands from asking the terminal for its colours. The screen's library does that during
// initialisation, in every command that links it: it writes escape sequences before the command's output, swallows
// input typed ahead, and waits five seconds for a terminal that does not answer. It does not ask a dumb terminal. So
// the terminal is dumb until main begins, except for kx tui. The library depends on golang.org's packages, so it is
// initialised later than this one.
//
// Second, it stops the garbage collector. Nearly everything that packages allocate at initialisation stays, and finding
// that out took a fifth of the time of a short command.
package atinit

import (
	"os"
	"runtime/debug"
)

const term = "TERM"

var was, had = os.LookupEnv(term)

// percent is the collector's original setting: GOGC or Go's default.
var percent = debug.SetGCPercent(-1)

func init() {
	if had && !asks(os.Args) {
		_ = os.Setenv(term, "dumb") // it fails only for invalid names
	}
}

func asks(args []string) bool { return len(args) > 1 && args[1] == "tui" }

// Finish restores the terminal's name and starts the collector.
func Finish() {
	debug.SetGCPercent(percent)
	if had {
		_ = os.Setenv(term, was)
	}
}
