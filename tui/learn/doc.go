// Package learn is the screen Lesson: the text of a lesson, which is played beside the screen that shows its requests.
//
// What comes in are a lesson, a way to play its blocks ([Play], which tui/play is), and how far the learner has come. What goes out
// are targets for the other screens (screen.Target), and the learner's record.
//
// # How it is made
//
// The lesson's parts are walked through in their order. Each has an [entry]: whether it waits, works, is done or failed, and what came
// of it. flow.go says what the next part wants, work.go has it done on a goroutine of its own, page.go draws all parts up to that one.
// A part that waits for the learner is drawn too, so that they see what the key will do.
//
// # Invariants
//
//  1. One piece of work is under way at a time. esc ends it, and the part waits again.
//  2. A part that failed says what was expected and what happened, and can be tried again or passed over: no part is a dead end.
//  3. No answer is shown before the question was asked, no solution before the hints were.
//  4. All text of lessons and outputs is clean of what acts on a terminal.
package learn
