// Package shell quotes text for a POSIX shell: for the commands that the screen offers to copy.
//
// It takes any text. In its output, nothing has a meaning to a shell except as the same words.
package shell
