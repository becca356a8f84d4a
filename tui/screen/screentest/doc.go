// Package screentest is the program around a screen, for the screen's tests: a [Host] that runs commands at once and
// records notes, targets and questions.
//
// A test makes a Host with the answers of a server, attaches its screen, presses keys and looks at frames:
//
//	h := screentest.New(t, handler)
//	s := etcd.New(h)
//	h.Attach(s)
//	h.Size(120, 36)
//	h.Press("j", "enter")
//	h.Golden("open")
//
// Keys work as in the program: the screen's commands and the shared ones, checked for conflicts. Commands run on the
// test's goroutine, and their answers are delivered before Press returns. [Host.Until] waits for data from a screen's
// own goroutines.
//
// Panes have tests without a Host: [Journey] is a recorded one, [GoldenPane] and [PaneSizes] look at their frames.
package screentest
