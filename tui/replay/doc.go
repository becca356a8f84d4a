// Package replay turns a recorded request into one that can be sent again.
//
// It takes a journey with its steps. It returns a target for the screen Send, and a note about differences from the
// original, if there are any. A journey has objects only if they were recorded, and never the bytes from the client:
// a patch's body is rebuilt from the patch's effect.
package replay
