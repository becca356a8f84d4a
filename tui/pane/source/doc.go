// Package source shows a file of the server's source: the line that ran, the other lines of the same journey that
// did, and the corresponding function of the Kubernetes API server.
//
// It takes a file from the server. [Read], which is slow, highlights it once; after that only the lines in view are
// painted. Lines that ran have a mark in the text: => for the selected step, * for the journey's other steps, with
// their numbers at the right.
package source
