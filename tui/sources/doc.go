// Package sources fetches files of the server's source over its API, each once, and keeps the latest ones ready for
// display. If a server lacks a file, or there is no server, it explains that in a note.
package sources
