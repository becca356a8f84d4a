// Package atinit arranges the time before main, in which hundreds of packages are initialised. They are in the order of
// their paths as soon as what they import is: this one imports the standard library alone, and so comes before most.
//
// It keeps commands from asking the terminal for its colours when nobody needs them. The screen's library asks for the
// background while packages are initialised, in whatever command it is linked into. That writes escape sequences before the
// command's own output, swallows what is typed ahead, and waits five seconds for a terminal that does not answer. It does
// not ask a dumb terminal; so until main begins this is one, except for kx tui, which wants to know. The library waits for
// golang.org's, and so comes later.
//
// And it keeps the collector from running: nearly all that packages make as they are initialised stays, and to find that out
// took a fifth of what a short command takes.
package atinit

import (
	"os"
	"runtime/debug"
)

const term = "TERM"

var was, had = os.LookupEnv(term)

// percent is how much the heap may grow between collections, by GOGC or as Go has it.
var percent = debug.SetGCPercent(-1)

func init() {
	if had && !asks(os.Args) {
		_ = os.Setenv(term, "dumb") // it fails for names that are none
	}
}

func asks(args []string) bool { return len(args) > 1 && args[1] == "tui" }

// Done gives the terminal its name back, and lets the collector run.
func Done() {
	debug.SetGCPercent(percent)
	if had {
		_ = os.Setenv(term, was)
	}
}
