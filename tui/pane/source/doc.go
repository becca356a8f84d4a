// Package source shows a file of the server's source: the line that ran, the other lines of the same journey that did, and
// which function of the Kubernetes API server does the same.
//
// What comes in is a file as the server serves it; it is highlighted once ([Read], which takes its time), and after that
// only the lines in view are painted. What ran has a mark in the text: => the line of the step that is looked at, * those
// of the journey's other steps, with their numbers at the right.
package source
