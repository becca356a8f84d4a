// Package sameas writes a request as commands that send the same: kubectl's, kx's and curl's.
//
// It takes a request, as written and in its wire form. It returns quoted text for a shell ([Way]), or the reason why
// a program has no command for it.
package sameas
