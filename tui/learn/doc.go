// Package learn is the screen Lesson: the text of a lesson, which is played beside the screen that shows its
// requests.
//
// It takes a lesson, a [Play] for its blocks (tui/play implements it), and the learner's progress. It produces
// targets for the other screens (screen.Target), and the learner's record.
//
// # How it is made
//
// The lesson's parts run in order. Each has an [entry] with its state and its outcome. flow.go decides what the next
// part needs, work.go runs it on a goroutine of its own, and page.go draws all parts up to it. A part that waits for
// the learner is drawn too, so that they see what the key will do.
//
// # Invariants
//
//  1. Only one piece of work runs at a time. esc ends it, and the part waits again.
//  2. A failed part shows the expected and the actual result. The learner can retry it or pass over it: no part is a
//     dead end.
//  3. The screen shows no answer before its question, and no solution before its hints.
//  4. All text of lessons and outputs is cleaned: it can't control the terminal.
package learn
