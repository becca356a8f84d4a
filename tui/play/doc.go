// Package play plays a lesson: it runs its blocks on a server of the lesson's own, and looks whether what must be seen is seen.
//
// What comes in are a [lesson.Lesson], a way to start its server, and the binary that is called kx in its commands. What goes out are
// outputs, exit codes, and of each expectation whether it holds and what was seen. The screen of kx learn and kx learn verify both
// play by it. The learner's [Progress] is a file of its own.
//
// # Invariants
//
//  1. Nothing outside the lesson's directory is written: commands run there, with a HOME and a KUBECONFIG of the lesson's. The
//     directory is removed at the end.
//  2. Every command ends: at its limit, if it has one, at Stop, or at Close, with all that it started.
//  3. What a Play asks of the server is not recorded, is never held, and is in nobody's count.
//  4. One method runs at a time. [Play.Close] may be called at any time, and ends what runs.
package play
