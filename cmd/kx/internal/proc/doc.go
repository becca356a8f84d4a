// Package proc sets up what a process of kx has once: the logs of libraries, the translations of kubectl, and the
// memory that it gives back.
//
// In come the handler of the command's log and, for a server, the context of its life. Each file says what it changes
// and why: logs.go, translations.go, memory.go.
package proc
