// Package source shows the server's source: the line that ran, the other lines of the same journey that did, and the
// corresponding function of the Kubernetes API server or of etcd.
//
// [Screen] shows one file, as large as the terminal. It opens above the others: from a step, from a line of the
// server's map, from any text about a function. [Pane] and [View] are the same as a part of another screen. [Library]
// fetches files over the server's API, and finds the corresponding function in the modules of this machine.
//
// It takes files from the server. [Read], which is slow, highlights each once; after that only the lines in view are
// painted. Lines that ran have a mark in the text: => for the selected step, * for the journey's other steps, with
// their numbers at the right.
package source
