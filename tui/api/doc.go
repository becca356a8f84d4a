// Package api asks a server over HTTP, as any client could: JSON in, JSON out, watches as a stream of events.
//
// What comes in is a [rest.Config]; what goes out are decoded answers, or an [Error] that says what was tried and what
// the server said, or an [Away] if nobody did; the client knows when somebody does again. Answers have a limit. Texts in
// them are as the server sent them: who shows them cleans them.
package api
