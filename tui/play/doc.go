// Package play plays a lesson: it runs its blocks on a server of the lesson's own, and judges its expectations.
//
// It takes a [lesson.Lesson], a way to start its server, and the binary for the name kx in its commands. It returns
// outputs, exit codes, and the result of each expectation. The screen of kx learn and kx learn verify both use it.
// The learner's [Progress] is a file of its own.
//
// # Invariants
//
//  1. Play writes only in the lesson's directory: commands run there, with a HOME and a KUBECONFIG of the lesson's.
//     The directory is removed at the end.
//  2. Every command ends, with all its children: at its limit, if it has one, at Stop, or at Close.
//  3. A Play's own requests to the server are not recorded, are never held, and count in no expectation.
//  4. One method runs at a time. [Play.Close] may be called at any time, and ends what runs.
package play
