// Package atinit keeps commands from asking the terminal for its colours when nobody needs them.
//
// The screen's library asks the terminal for its background while packages are initialised, in whatever command it is
// linked into. That writes escape sequences before the command's own output, swallows what is typed ahead, and waits five
// seconds for a terminal that does not answer. It does not ask a dumb terminal; so until main begins this is one, except
// for kx tui, which wants to know. Packages are initialised in the order of their paths as soon as what they import is:
// this one imports the standard library alone, and so is there before the screen's library, which waits for golang.org's.
package atinit

import "os"

const term = "TERM"

var was, had = os.LookupEnv(term)

func init() {
	if had && !asks(os.Args) {
		_ = os.Setenv(term, "dumb") // it fails for names that are none
	}
}

func asks(args []string) bool { return len(args) > 1 && args[1] == "tui" }

// Done gives the terminal its name back.
func Done() {
	if had {
		_ = os.Setenv(term, was)
	}
}
