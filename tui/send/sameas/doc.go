// Package sameas writes a request as commands that send the same: kubectl's, kx's and curl's.
//
// What comes in is a request as it was written and as it goes over the wire. What goes out is text for a shell, quoted
// ([Way]), or the reason why a program has no command for it.
package sameas
