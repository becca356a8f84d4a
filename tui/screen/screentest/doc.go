// Package screentest is the program around a screen, for the screen's tests: a [Host] that does at once what it is asked
// to do, and writes down what it is told.
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
// Keys mean here what they mean in the program: the screen's commands and the shared ones, checked for two meanings.
// Commands run on the test's goroutine, and their answers are delivered before Press returns. What a screen's own
// goroutines bring is waited for with [Host.Until].
package screentest
