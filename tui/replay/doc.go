// Package replay makes of a request that was recorded one that can be sent again.
//
// What comes in is a journey with its steps; what goes out is a target for the screen Send, and what is different from what
// was sent, if anything is. A journey has objects, if they were asked for, and never the bytes that a client sent: the body
// of a patch is made anew, of what it did.
package replay
