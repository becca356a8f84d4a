// Package migrate has a server write objects again, so that they are stored in the version and with the encryption that it
// writes today.
//
// In come a client of the server and resources; out goes what became of the objects of each. An object is written again by
// a patch through the API that changes nothing: the server compares what it would store with what is stored, and writes if
// that differs.
//
// Invariants:
//
//  1. A patch is bound to the UID and the resourceVersion that were read. An object that somebody has written since is left
//     alone: their write has done it.
//  2. One object is under way at a time, at the pace that was asked for.
//  3. The cursor of a migration that was stopped is that of the page that it was at: what comes twice is found to be done.
package migrate
