// Package shell writes text so that a POSIX shell reads it as it is: what the screen offers to copy ends up there.
//
// What comes in is anything; what goes out has no meaning to a shell but the words that came in.
package shell
